"""The parameter for a volume to be mounted, and the search for offers that can mount it."""

from django.http import QueryDict

from common.errors import FieldError, InvalidInput, NotFound
from marketplace.search.volume_locality import MOUNTABLE, PlaceOf, VolumePlace


def requested_place(params: QueryDict, place_of: PlaceOf) -> VolumePlace | None:
    """Return the place of the volume that a search names, if it names one.

    Raises:
        InvalidInput: there is no such volume.
    """
    text = params.get(MOUNTABLE)
    if not text:
        return None
    try:
        return place_of(text)
    except NotFound as error:
        raise InvalidInput(error.detail, errors=[FieldError(MOUNTABLE, "unknown", error.detail)]) from error


def near_volume(params: QueryDict, place: VolumePlace | None) -> QueryDict:
    """Return the search with the volume's region and runtime in place of the volume.

    Volumes can be copied within a region.
    """
    if MOUNTABLE not in params:
        return params
    located = params.copy()
    del located[MOUNTABLE]
    if place is not None:
        located.setlist("region", [place.region])
        located.setlist("runtime", [place.runtime])
    return located
