"""Reads of the wait list."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.constants import MAIL_TRIED
from accounts.models import User
from billing.constants import WATCH_SOURCE
from billing.metering.costs import open_holds
from common.errors import NotFound
from instances.constants import SWEEP_BATCH
from instances.models import Watch
from instances.states import WatchAction, WatchState


def entries_of(user: User) -> QuerySet[Watch]:
    """Return the user's entries, newest first, annotated with how many waiting ones are `ahead`."""
    before = Watch.objects.filter(state=WatchState.WAITING, place__lt=OuterRef("place")).order_by()
    ahead = Subquery(before.values("state").annotate(count=Count("pk")).values("count"))
    own = Watch.objects.filter(user=user).select_related("image", "instance", "offer__host")
    return own.annotate(ahead=Coalesce(ahead, 0)).order_by("-place")


def entries_in(user: User, states: Sequence[str]) -> QuerySet[Watch]:
    """Return entries in these states, or all when none is named."""
    return entries_of(user).filter(state__in=states) if states else entries_of(user)


def entry_of(user: User, watch_id: UUID) -> Watch:
    """Return the user's entry; raise NotFound for any other, existing or not."""
    watch = entries_of(user).filter(pk=watch_id).first()
    if watch is None:
        raise NotFound("This waitlist entry doesn't exist.")
    return watch


def waiting_of(user: User) -> QuerySet[Watch]:
    return Watch.objects.filter(user=user, state=WatchState.WAITING)


def waiting_after(place: int) -> list[Watch]:
    """Return the next batch of waiting entries, in order."""
    waiting = Watch.objects.filter(state=WatchState.WAITING, place__gt=place).select_related("user", "image")
    return list(waiting.order_by("place")[:SWEEP_BATCH])


def expired_entries(now: datetime) -> list[Watch]:
    due = Watch.objects.filter(state=WatchState.WAITING, expires_at__lte=now)
    return list(due.order_by("expires_at")[:SWEEP_BATCH])


def entries_to_mail(now: datetime) -> list[Watch]:
    """Return ended entries to be mailed; users who cancelled know it already."""
    ended = Watch.objects.filter(
        mailed_at=None,
        state__in=[WatchState.TOLD, WatchState.RENTED, WatchState.FAILED, WatchState.EXPIRED],
        ended_at__gt=now - MAIL_TRIED,
    )
    return list(ended.select_related("user", "instance", "offer__host").order_by("ended_at")[:SWEEP_BATCH])


def held_for_watches(watches: Sequence[Watch]) -> dict[UUID, int]:
    """Return what is held for each entry now; those without a hold are left out."""
    return open_holds(source_kind=WATCH_SOURCE, source_ids=[watch.pk for watch in watches])


def watch_holds_expected() -> set[UUID]:
    """Return the entries for which money should be held, by the list's own rows."""
    orders = Watch.objects.filter(state=WatchState.WAITING, action=WatchAction.RENT)
    return set(orders.order_by().values_list("pk", flat=True))
