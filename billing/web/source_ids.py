"""Public ids of charged sources, by kind."""

from uuid import UUID

from billing.constants import (
    COUPON_SOURCE,
    DISK_SOURCE,
    HOLD_SOURCE,
    INSTANCE_SOURCE,
    PAYMENT_SOURCE,
    RETENTION_SOURCE,
    SNAPSHOT_SOURCE,
    TERM_SOURCE,
    VOLUME_SOURCE,
)
from common.ids import public_id

SOURCE_PREFIXES = {
    INSTANCE_SOURCE: "inst",
    DISK_SOURCE: "inst",
    HOLD_SOURCE: "inst",
    RETENTION_SOURCE: "inst",
    VOLUME_SOURCE: "vol",
    SNAPSHOT_SOURCE: "snap",
    TERM_SOURCE: "term",
    PAYMENT_SOURCE: "topup",
    COUPON_SOURCE: "cpn",
}


def source_public_id(kind: str, source_id: UUID) -> str:
    return public_id(SOURCE_PREFIXES.get(kind, kind), source_id)
