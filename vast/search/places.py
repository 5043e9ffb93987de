"""Places as Vast writes them: they end in two letters, which clients compare with codes of countries."""

import re
from typing import Final

_REGION: Final = re.compile(r"([A-Za-z]{2})(?:[-_ ](.+))?")
_NOWHERE: Final = "XX"  # ISO 3166 leaves it to users


def geolocation_of(region: str) -> str:
    """Return `Hangzhou, CN` of the region `cn-hangzhou`; of one without a country, the region and `XX`."""
    found = _REGION.fullmatch(region)
    if found is None:
        return f"{region}, {_NOWHERE}"
    country, place = found[1].upper(), found[2]
    return f"{place.replace('-', ' ').replace('_', ' ').title()}, {country}" if place else f"{country}, {country}"


def country_of(geolocation: object) -> str:
    """Return the last two letters of a place, in capitals."""
    return str(geolocation).strip()[-2:].upper()
