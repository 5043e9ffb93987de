"""Party at fault for a failure; it is the host only where the renter cannot have caused it."""

from instances.constants import FAULT_OF, UNTOUCHED_ONLY
from instances.models import Instance
from instances.states import FaultOf
from storage.states import ImageSource


def blame(instance: Instance, code: str) -> FaultOf:
    """Return who is at fault, by the host's code and what the renter could have done before.

    An unknown code proves nothing against anybody.
    """
    fault = FaultOf(FAULT_OF.get(code, FaultOf.NOBODY))
    if fault == FaultOf.HOST and code in UNTOUCHED_ONLY and not _is_untouched(instance):
        return FaultOf.NOBODY
    return fault


def _is_untouched(instance: Instance) -> bool:
    return not instance.has_own_root and instance.image.source == ImageSource.OFFICIAL
