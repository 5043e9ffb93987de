"""Search among the templates that a user may see."""

from django.db.models import Case, Q, QuerySet, Value, When

from accounts.models import User
from workloads.models import LaunchTemplate
from workloads.templates.selectors import templates_in

_WORDS_MOST = 8


def search_templates(
    user: User | None, *, words: str = "", category: str = "", source: str = ""
) -> QuerySet[LaunchTemplate]:
    """Return the templates that match, official ones first, then the most used."""
    found = templates_in(user, source)
    if category:
        found = found.filter(category=category)
    for word in words.split()[:_WORDS_MOST]:
        found = found.filter(Q(title__icontains=word) | Q(description__icontains=word) | Q(slug__icontains=word))
    official = Case(When(owner__isnull=True, then=Value(0)), default=Value(1))
    return found.annotate(rank=official).order_by("rank", "-use_count", "slug")
