"""Public ids of charged sources, by kind."""

from uuid import UUID

from billing.constants import SOURCE_PREFIXES
from common.ids import public_id


def source_public_id(kind: str, source_id: UUID) -> str:
    return public_id(SOURCE_PREFIXES.get(kind, kind), source_id)
