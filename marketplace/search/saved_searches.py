"""Search lines that users save under a name."""

from typing import TYPE_CHECKING
from uuid import UUID

from django.db import IntegrityError, transaction

from common.db.transactions import use_case
from common.errors import FieldError, InvalidInput, NotFound
from marketplace.constants import SAVED_SEARCHES_MAX
from marketplace.errors import SearchNameTaken, TooManySearches
from marketplace.models import SavedSearch
from marketplace.search.language.parser import LINE_MAX, parse_line, write_line

if TYPE_CHECKING:
    from accounts.models import User
from django.db.models import QuerySet

NAME_CHARS = 80


def save_search(*, user: "User", name: str, line: str) -> SavedSearch:
    """Save a line, in its canonical form.

    Raises:
        SearchSyntaxError: the line cannot be parsed.
        TooManySearches: the account has too many.
    """
    name, line = _name(name), _canonical(line)
    with use_case():
        if saved_searches_of(user.pk).count() >= SAVED_SEARCHES_MAX:
            raise TooManySearches(f"An account keeps at most {SAVED_SEARCHES_MAX} searches; remove some first.")
        try:
            with transaction.atomic():
                return SavedSearch.objects.create(user=user, name=name, line=line)
        except IntegrityError as error:
            raise SearchNameTaken(f"You have a search named {name!r} already.") from error


def rename_search(*, user_id: UUID, search_id: UUID, name: str) -> SavedSearch:
    """Rename a saved search.

    Raises:
        NotFound: the user has no such search.
    """
    name = _name(name)
    with use_case():
        search = SavedSearch.objects.select_for_update(no_key=True).filter(pk=search_id, user_id=user_id).first()
        if search is None:
            raise NotFound("This saved search doesn't exist.")
        search.name = name
        try:
            with transaction.atomic():
                search.save(update_fields=["name"])
        except IntegrityError as error:
            raise SearchNameTaken(f"You have a search named {name!r} already.") from error
        return search


def delete_search(*, user_id: UUID, search_id: UUID) -> None:
    """Delete a saved search.

    Raises:
        NotFound: the user has no such search.
    """
    with use_case():
        removed, _ = SavedSearch.objects.filter(pk=search_id, user_id=user_id).delete()
    if not removed:
        raise NotFound("This saved search doesn't exist.")


def _name(text: str) -> str:
    text = " ".join(text.split())
    if not (text and text.isprintable() and len(text) <= NAME_CHARS):
        detail = f"Write 1 to {NAME_CHARS} characters."
        raise InvalidInput("The search needs a name.", errors=[FieldError("name", "invalid", detail)])
    return text


def _canonical(line: str) -> str:
    """Return the line as `write_line` writes it, unless that is too long to save."""
    written = write_line(parse_line(line))
    return written if len(written) <= LINE_MAX else line


def saved_searches_of(user_id: UUID) -> QuerySet[SavedSearch]:
    """Return a user's saved searches, by name."""
    return SavedSearch.objects.filter(user_id=user_id)


def saved_search_of(user_id: UUID, search_id: UUID) -> SavedSearch:
    search = saved_searches_of(user_id).filter(pk=search_id).first()
    if search is None:
        raise NotFound("This saved search doesn't exist.")
    return search
