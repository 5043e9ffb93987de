"""Whose fault a failure is. The host's only where its renter cannot have brought it about."""

from instances.constants import FAULT_OF, UNTOUCHED_ONLY
from instances.models import Instance
from instances.states import FaultOf
from storage.states import ImageSource


def blame(instance: Instance, code: str) -> FaultOf:
    """By the host's code and what the renter can have done before. An unknown code proves nothing against anybody."""
    fault = FaultOf(FAULT_OF.get(code, FaultOf.NOBODY))
    if fault == FaultOf.HOST and code in UNTOUCHED_ONLY and not _is_untouched(instance):
        return FaultOf.NOBODY
    return fault


def _is_untouched(instance: Instance) -> bool:
    return not instance.has_own_root and instance.image.source == ImageSource.OFFICIAL
