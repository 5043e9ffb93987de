"""An instance as the API answers with it."""

from uuid import UUID

from common import clock
from common.ids import parse_public_id
from instances.bills import bill_of
from instances.models import Instance
from instances.shapes import INSTANCE_PREFIX, Shape, instance_shape


def shown(instance: Instance) -> Shape:
    now = clock.now()
    return instance_shape(instance, bill_of(instance, now), now)


def instance_id_of(text: str) -> UUID:
    return parse_public_id(INSTANCE_PREFIX, text)
