"""The wait list: its entries, their holds, and the pass that serves them first come, first served."""

import logging
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import InterfaceError, OperationalError

from accounts.errors import TooMany
from accounts.models import User
from accounts.selectors import ssh_keys_of
from billing.constants import WATCH_SOURCE
from billing.ledger.postings import lock_wallets
from billing.ledger.wallets import open_wallet
from billing.metering.holds import hold_funds, release_hold
from common import change_counters, clock
from common.db.transactions import exclusive_lock, joining, use_case
from common.errors import DomainError, IllegalTransition, NotFound, StaleRow
from common.ids import public_id
from common.jobs import enqueue
from common.messages.message import Name
from common.transitions import move
from instances.constants import WATCH_KEPT, WATCHES_AT_MOST
from instances.core.capacity_hints import has_waiting_entries
from instances.core.transitions import RENTER, SYSTEM, record_event, retry_stale
from instances.models import Quote, Watch
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from instances.states import WATCH_MACHINE, WatchAction, WatchState
from instances.wait_list.entries import EntryOrder, draft_entry, highest_cost, query_of
from instances.wait_list.selectors import entry_of, expired_entries, waiting_after, waiting_of
from marketplace.errors import PriceChanged, SearchSyntaxError
from marketplace.search.language.fields import Condition, OfferQuery, Op
from marketplace.search.selectors import search_offers

logger = logging.getLogger(__name__)

# Only one pass runs at a time, whatever the number of workers, since two would overtake each other. The number is
# arbitrary.
_PASS_LOCK: Final = 7_236_180_423
_WALKS: Final = 3


class _Unservable(Exception):
    """No GPUs that become free can serve this entry any more; `reason` is a key of `messages.REASONS`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


# Entries.


def create_entry(
    *,
    user: User,
    line: str,
    action: str = WatchAction.TELL,
    order: EntryOrder | None = None,
    lifetime: timedelta = timedelta(days=7),
) -> Watch:
    """Add an entry at the end of the wait list; a `rent` entry holds one hour at its highest price.

    Raises SearchSyntaxError, InvalidInput, NotFound (image, SSH keys), TooMany or InsufficientFunds.
    """
    watch = draft_entry(user=user, line=line, action=action, order=order or EntryOrder(), lifetime=lifetime)
    with use_case():
        # so that of two at the same time only one takes the last entry of the limit
        lock_wallets([open_wallet(owner_id=user.pk).pk])
        if waiting_of(user).count() >= WATCHES_AT_MOST:
            raise TooMany(f"An account can have at most {WATCHES_AT_MOST} waitlist entries; cancel some first.")
        if action == WatchAction.RENT:
            hold_funds(owner_id=user.pk, amount_micros=highest_cost(watch), source_kind=WATCH_SOURCE, source_id=watch.pk)
        watch.save(force_insert=True)
        watch.refresh_from_db(fields=["place"])
        _touch(watch)
        enqueue("instances.serve_watches")
    return watch


def cancel_entry(*, user: User, watch_id: UUID) -> Watch:
    """Cancel an entry and release its hold; repeating it changes nothing.

    Raises IllegalTransition when it has ended otherwise.
    """

    def attempt() -> Watch:
        watch = entry_of(user, watch_id)
        if watch.state == WatchState.CANCELLED:
            return watch
        if watch.state != WatchState.WAITING:
            raise IllegalTransition(f"This waitlist entry has ended: it is {watch.state}.", state=watch.state)
        _end(watch, WatchState.CANCELLED, actor=RENTER)
        return watch

    with use_case():
        return retry_stale(attempt)


def expire_entries(*, now: datetime) -> int:
    """End the entries that have expired, release their holds, and return how many."""
    return sum(_try_end(watch, WatchState.EXPIRED) for watch in expired_entries(now))


def delete_old_entries(*, now: datetime) -> int:
    """Delete entries that ended long ago and return how many."""
    with use_case():
        dropped, _ = Watch.objects.filter(ended_at__lt=now - WATCH_KEPT).delete()
    return dropped


# The pass.


def serve_entries(*, now: datetime) -> int:
    """Serve waiting entries strictly in their order; return how many were told or rented for.

    While another pass runs, nothing is done. Nothing is kept back for an entry that needs more than is free.
    """
    expire_entries(now=now)
    served = 0
    with exclusive_lock(_PASS_LOCK) as ours:
        for _ in range(_WALKS if ours and has_waiting_entries() else 0):
            walk = _Pass()
            walk.go()
            served += walk.served
            if not walk.overtaking:
                break
    return served


@dataclass
class _Pass:
    """One pass over the list.

    `passed` are searches that found nothing at their turn, `refused` are orders that failed.
    """

    passed: dict[OfferQuery, None] = field(default_factory=dict)
    refused: set[tuple[OfferQuery, UUID]] = field(default_factory=set)
    served: int = 0
    overtaking: bool = False

    def go(self) -> None:
        """Serve entries up to the end of the list, or up to where one would overtake an earlier entry."""
        place = 0
        while batch := waiting_after(place):
            for watch in batch:
                self._serve_isolated(watch)
                if self.overtaking:
                    return
            place = batch[-1].place

    def _serve_isolated(self, watch: Watch) -> None:
        try:
            self.served += self._serve(watch)
        except _Unservable as error:
            _try_end(watch, WatchState.FAILED, detail=error.reason)
        except StaleRow:
            pass  # it was cancelled or served meanwhile
        except (OperationalError, InterfaceError):
            raise  # a lock or the database: no entry may be skipped for that, so the next sweep begins again
        except Exception:  # one broken entry must not stop everyone behind it
            logger.exception("watch %s was passed over", watch.pk)

    def _serve(self, watch: Watch) -> bool:
        query = _checked_query(watch)
        if query in self.passed:
            return False
        offers = search_offers(query).offers
        if not offers:
            self.passed[query] = None
            return False
        if watch.action == WatchAction.TELL:
            return _notify(watch, offers[0])
        return any(self._rent(watch, query, offer) for offer in offers)

    def _rent(self, watch: Watch, query: OfferQuery, offer: dict[str, Any]) -> bool:
        if self.overtaking or (query, offer["id"]) in self.refused:
            return False
        if self._fits_an_earlier_place(offer):
            self.overtaking = True
            return False
        try:
            _rent_for(watch, offer)
        except StaleRow:
            raise
        except DomainError as error:
            logger.info("watch %s did not get offer %s: %s", watch.pk, offer["id"], error.code)
            self.refused.add((query, offer["id"]))
            return False
        return True

    def _fits_an_earlier_place(self, offer: dict[str, Any]) -> bool:
        """Return whether the offer became free after an earlier entry's turn; the pass then begins again."""
        here = Condition("host", Op.EQ, public_id("host", offer["host_id"]))
        for query in self.passed:
            narrowed = replace(query, conditions=(*query.conditions, here))
            if any(found["id"] == offer["id"] for found in search_offers(narrowed).offers):
                return True
        return False


def _checked_query(watch: Watch) -> OfferQuery:
    """Return the entry's search, or raise _Unservable when it can never be served any more."""
    if not watch.user.is_active:
        raise _Unservable("account_closed")
    if watch.action == WatchAction.RENT:
        if watch.image is None or not watch.image.active:
            raise _Unservable("image_gone")
        try:
            ssh_keys_of(watch.user, watch.ssh_key_ids)
        except NotFound as error:
            raise _Unservable("keys_gone") from error
    try:
        return query_of(watch)
    except SearchSyntaxError as error:
        raise _Unservable("search_unreadable") from error


def _notify(watch: Watch, offer: dict[str, Any]) -> bool:
    with use_case():
        _end(watch, WatchState.TOLD, offer_id=offer["id"])
    return True


def _rent_for(watch: Watch, offer: dict[str, Any]) -> None:
    """Release the hold, quote, rent and end the entry in one transaction.

    The wallet stays locked between the two holds. The compare-and-swap of the state comes last and is the safeguard:
    of two passes that serve one entry the second is rolled back.
    """
    assert watch.image is not None
    with joining():
        release_hold(source_kind=WATCH_SOURCE, source_id=watch.pk)
        quote = create_quote(
            renter=watch.user,
            offer_id=offer["id"],
            image=watch.image.slug,
            gpu_count=watch.gpu_count,
            data_disk_gb=watch.data_disk_gb,
        )
        _check_price(watch, quote, offer)
        instance = rent_instance(renter=watch.user, quote_id=quote.pk, name=watch.name, ssh_key_ids=watch.ssh_key_ids)
        record_event(instance, kind="rented_from_wait_list", actor=SYSTEM, detail=Name(name=watch.line))
        _end(watch, WatchState.RENTED, instance_id=instance.pk, offer_id=offer["id"])


def _check_price(watch: Watch, quote: Quote, offer: dict[str, Any]) -> None:
    """Raise PriceChanged for a price above the accepted one, or an offer that changed since it was found."""
    if quote.offer_version != offer["version"]:
        raise PriceChanged("The offer changed while the order was being placed.")
    if max(quote.rate_micros_per_hour, quote.due_now_micros) > highest_cost(watch):
        raise PriceChanged("The order would cost more than the max price.")


# Ends of entries.


def _end(watch: Watch, state: WatchState, *, actor: str = SYSTEM, detail: str = "", **fields: Any) -> None:
    """End an entry inside a use case: release the hold first, since wallets are locked before all else."""
    release_hold(source_kind=WATCH_SOURCE, source_id=watch.pk)
    move(
        watch,
        state,
        machine=WATCH_MACHINE,
        reason=state,
        actor=actor,
        ended_at=clock.now(),
        detail=detail,
        **fields,
    )
    _touch(watch)
    if state != WatchState.CANCELLED:
        enqueue("instances.queue_watch_mails")


def _try_end(watch: Watch, state: WatchState, *, detail: str = "") -> bool:
    """End an entry in a transaction of its own; return False when it has ended otherwise meanwhile."""
    try:
        with use_case():
            _end(watch, state, detail=detail)
    except StaleRow:
        return False
    return True


def _touch(watch: Watch) -> None:
    change_counters.notify_change(f"user:{watch.user_id.hex}")
