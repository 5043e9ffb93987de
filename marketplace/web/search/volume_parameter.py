"""The volume that a search of the market names, and the search for what it can be mounted to."""

from django.http import QueryDict

from common.errors import FieldError, InvalidInput, NotFound
from marketplace.search.volume_locality import MOUNTABLE, PlaceOf, VolumePlace


def place_asked(params: QueryDict, place_of: PlaceOf) -> VolumePlace | None:
    """Of the volume that a search names, if it names one. Raises InvalidInput for one that there is not."""
    text = params.get(MOUNTABLE)
    if not text:
        return None
    try:
        return place_of(text)
    except NotFound as error:
        raise InvalidInput(error.detail, errors=[FieldError(MOUNTABLE, "unknown", error.detail)]) from error


def beside_volume(params: QueryDict, place: VolumePlace | None) -> QueryDict:
    """The same search with the volume's region in the volume's place: within it volumes move."""
    if MOUNTABLE not in params:
        return params
    located = params.copy()
    del located[MOUNTABLE]
    if place is not None:
        located.setlist("region", [place.region])
        located.setlist("runtime", [place.runtime])
    return located
