"""Reads of saved searches."""

from uuid import UUID

from django.db.models import QuerySet

from common.errors import NotFound
from marketplace.models import SavedSearch


def saved_searches_of(user_id: UUID) -> QuerySet[SavedSearch]:
    """Return a user's saved searches, by name."""
    return SavedSearch.objects.filter(user_id=user_id)


def saved_search_of(user_id: UUID, search_id: UUID) -> SavedSearch:
    search = saved_searches_of(user_id).filter(pk=search_id).first()
    if search is None:
        raise NotFound("There is no such saved search.")
    return search
