"""Short numbers of UUIDs: given out when a thing is first shown, and read back from requests."""

from collections.abc import Collection, Mapping
from uuid import UUID

from common.errors import NotFound
from vast.constants import HIGHEST_NUMBER
from vast.errors import NoSuchInstance
from vast.models import Kind, ShortNumber


def numbers_of(kind: Kind, keys: Collection[UUID]) -> dict[UUID, int]:
    """Return the numbers of these things; those without one get one now."""
    found = _known(kind, keys)
    missing = [key for key in dict.fromkeys(keys) if key not in found]
    if missing:
        ShortNumber.objects.bulk_create([ShortNumber(kind=kind, key=key) for key in sorted(missing)], ignore_conflicts=True)
        found = _known(kind, keys)
    return found


def number_of(kind: Kind, key: UUID) -> int:
    return numbers_of(kind, [key])[key]


def keys_of(kind: Kind, numbers: Collection[int]) -> dict[int, UUID]:
    """Return what these numbers stand for; unknown ones, and those of other kinds, are left out."""
    usable = [number for number in numbers if 0 < number <= HIGHEST_NUMBER]
    return dict(ShortNumber.objects.filter(kind=kind, pk__in=usable).values_list("pk", "key"))


def key_of(kind: Kind, number: int) -> UUID:
    """Return what the number stands for.

    Raises:
        NotFound: nothing of this kind has the number; NoSuchInstance for instances.
    """
    found: Mapping[int, UUID] = keys_of(kind, [number])
    if number not in found:
        words = f"There is no {kind.value} {number}."
        raise NoSuchInstance(words) if kind == Kind.INSTANCE else NotFound(words)
    return found[number]


def _known(kind: Kind, keys: Collection[UUID]) -> dict[UUID, int]:
    return dict(ShortNumber.objects.filter(kind=kind, key__in=list(keys)).values_list("key", "pk"))
