"""Creates of several asks, and of the first that can be had."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from accounts.models import User
from common.errors import DomainError
from vast.constants import BULK_AT_MOST
from vast.create.bodies import Wanted
from vast.create.orders import create_from_ask, made_before, program_of
from vast.errors import AskGone, InvalidArgs
from vast.models import Kind
from vast.numbers.numbers import number_of
from vast.search.offers import Search, find_offers

if TYPE_CHECKING:
    from instances.models import Instance

_TRIED_AT_MOST: Final = 3
_LAUNCH: Final = "launch"


def create_each(
    *, renter: User, credential: UUID, numbers: object, body: Mapping[str, Any], wanted: Wanted
) -> list[dict[str, Any]]:
    """Rent each of these asks, and return what became of each."""
    if not isinstance(numbers, list) or len(numbers) > BULK_AT_MOST or not all(_is_number(each) for each in numbers):
        raise InvalidArgs(f"ids: Send a list of at most {BULK_AT_MOST} numbers of offers.")
    found: list[dict[str, Any]] = []
    program = program_of(renter, wanted)
    for number in dict.fromkeys(numbers):
        try:
            made = create_from_ask(
                renter=renter, credential=credential, number=number, body=body, wanted=wanted, program=program
            )
            found.append({"id": number, "success": True, "new_contract": number_of(Kind.INSTANCE, made.pk)})
        except DomainError as error:
            found.append({"id": number, "success": False, "error": error.code, "msg": str(error.detail)})
    return found


def launch_first(*, renter: User, credential: UUID, search: Search, body: Mapping[str, Any], wanted: Wanted) -> "Instance":
    """Rent the first result of a search; where others were faster, the next one.

    A repetition finds its instance, whatever the search would find now.
    Raises AskGone where nothing matches or all that was tried is taken, and what `create_from_ask` raises.
    """
    made = made_before(renter=renter, credential=credential, sent_to=_LAUNCH, body=body)
    if made is not None:
        return made
    offers = find_offers(search)[:_TRIED_AT_MOST]
    if not offers:
        raise AskGone("No offer matches. Ask for less, or search for what there is.")
    program = program_of(renter, wanted)
    order = {"renter": renter, "credential": credential, "body": body, "wanted": wanted}
    order |= {"program": program, "sent_to": _LAUNCH}
    for each in offers[:-1]:
        try:
            return create_from_ask(**order, number=each["id"])  # type: ignore[arg-type]  # names of create_from_ask
        except AskGone:
            continue
    return create_from_ask(**order, number=offers[-1]["id"])  # type: ignore[arg-type]  # as above


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
