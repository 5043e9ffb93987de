"""Places in the wait list: what they hold, whom they serve and in which order, and how they end."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.db import OperationalError

from accounts.constants import MAIL_CLAIM
from accounts.errors import TooMany
from accounts.models import User
from accounts.ssh_keys.services import add_ssh_key, remove_ssh_key
from billing.errors import InsufficientFunds
from billing.models import Hold
from common import clock
from common.errors import IllegalTransition, InvalidInput, NotFound
from instances.constants import WATCHES_AT_MOST
from instances.core import capacity_hints
from instances.enforcement.sweeps import compare_watch_holds
from instances.models import Instance, InstanceEvent, Quote, Watch
from instances.orders.quotes import create_quote
from instances.release.services import release_instance
from instances.states import WatchState
from instances.wait_list import wait_list as service
from instances.wait_list.entries import EntryOrder, query_of
from instances.wait_list.mail import queue_watch_mails
from instances.wait_list.selectors import entries_of
from instances.wait_list.wait_list import cancel_entry, create_entry, delete_old_entries, expire_entries, serve_entries
from marketplace.errors import SearchSyntaxError
from marketplace.hosts.offers import check_offers, set_draining, set_price
from marketplace.models import Host, Incident, Offer
from marketplace.states import HostState
from storage.models import Image
from tests.billing.money import UNIT, assert_sound, execute, grant, make_user, wallet
from tests.instances.fake_host import FakeHost, order, order_running, refused
from tests.instances.fixtures import Clock
from tests.mails import killed_at, sent

PRICE = 3_600_000  # of the fake host, per GPU and hour
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGCqXPQTDcPHQN8I54mzs9YTTn0qPmGQxnqy4Ip3bO5o x@y"


def renter(micros: int = 100 * UNIT) -> User:
    user = make_user("waiter")
    grant(user, micros)
    return user


def wait_to_rent(user: User, line: str = "", *, price: int = 4 * UNIT, **rest: Any) -> Watch:
    order = EntryOrder(image="berth-base", max_price_micros=price, **rest)
    return create_entry(user=user, line=line, action="rent", order=order)


def wait_to_hear(user: User, line: str = "", **rest: Any) -> Watch:
    return create_entry(user=user, line=line, **rest)


def reload(watch: Watch) -> Watch:
    return Watch.objects.get(pk=watch.pk)


def states(*watches: Watch) -> list[str]:
    return [reload(watch).state for watch in watches]


def serve() -> int:
    return serve_entries(now=clock.now())


@pytest.fixture
def full(host: FakeHost, rin: User) -> Instance:
    """All four GPUs of the host are taken."""
    return order_running(rin, host, gpu_count=4)


def free(host: FakeHost, instance: Instance) -> None:
    release_instance(renter=instance.renter, instance_id=instance.pk)
    host.settle()


# -- a place


def test_places_are_in_order_and_know_who_is_ahead(full: Instance, alice: User, bob: User) -> None:
    first, second, third = wait_to_hear(alice), wait_to_hear(bob), wait_to_hear(alice)
    assert first.place < second.place < third.place
    assert [vars(watch)["ahead"] for watch in entries_of(alice)] == [2, 0]
    cancel_entry(user=bob, watch_id=second.pk)
    assert [vars(watch)["ahead"] for watch in entries_of(alice)] == [1, 0]


def test_a_line_is_kept_in_one_spelling(full: Instance, alice: User) -> None:
    watch = wait_to_hear(alice, "  price<0.5 , RTX4090   count>=2")
    assert watch.line == "count=2 gpu=rtx-4090 price<0.5"
    assert watch.gpu_count == 2


def test_a_line_that_cannot_be_read_is_refused(full: Instance, alice: User) -> None:
    with pytest.raises(SearchSyntaxError), refused():
        wait_to_hear(alice, "gpu=")
    assert not Watch.objects.exists()


def test_to_rent_holds_one_hour_at_the_highest_price(full: Instance, bob: User) -> None:
    grant(bob, 10 * UNIT)
    watch = wait_to_rent(bob, "count=2", price=4 * UNIT)
    assert wallet(bob).held_micros == 8 * UNIT
    hold = Hold.objects.get(source_kind="watch", source_id=watch.pk)
    assert (hold.amount_micros, hold.released_at) == (8 * UNIT, None)
    assert compare_watch_holds() == 0


def test_without_the_money_there_is_no_place(full: Instance, bob: User) -> None:
    grant(bob, 8 * UNIT - 1)
    with pytest.raises(InsufficientFunds), refused():
        wait_to_rent(bob, "count=2", price=4 * UNIT)
    assert not Watch.objects.exists()
    assert wallet(bob).held_micros == 0


@pytest.mark.parametrize(
    ("line", "order", "field"),
    [
        ("", EntryOrder(max_price_micros=1), "image"),
        ("", EntryOrder(image="berth-base"), "max_price"),
        ("", EntryOrder(image="berth-base", max_price_micros=0), "max_price"),
        ("", EntryOrder(image="berth-base", max_price_micros=-1), "max_price"),
        ("", EntryOrder(image="berth-base", max_price_micros=10_000_000_001), "max_price"),
        ("", EntryOrder(image="berth-base", max_price_micros=1, data_disk_gb=-1), "data_disk_gb"),
        ("", EntryOrder(image="berth-base", max_price_micros=1, data_disk_gb=100_001), "data_disk_gb"),
        ("", EntryOrder(image="berth-base", max_price_micros=1, data_disk_gb=51), "data_disk_gb"),
        ("data_disk=51", EntryOrder(image="berth-base", max_price_micros=1), "data_disk_gb"),
        ("mode=spot", EntryOrder(image="berth-base", max_price_micros=1), "q"),
    ],
)
def test_an_order_that_could_not_be_kept_is_refused(
    rin: User, image: Image, line: str, order: EntryOrder, field: str
) -> None:
    with pytest.raises(InvalidInput) as caught, refused():
        create_entry(user=rin, line=line, action="rent", order=order)
    assert [error.field for error in caught.value.errors] == [field]
    assert not Hold.objects.exists()


@pytest.mark.parametrize("hours", [0.99, 30 * 24 + 0.01])
def test_time_to_wait_has_its_limits(rin: User, hours: float) -> None:
    with pytest.raises(InvalidInput), refused():
        wait_to_hear(rin, lifetime=timedelta(hours=hours))


def test_image_and_keys_must_be_there(rin: User, bob: User, image: Image) -> None:
    foreign = add_ssh_key(user=bob, name="", public_key=KEY)
    with pytest.raises(NotFound), refused():
        create_entry(user=rin, line="image=nothing")
    with pytest.raises(NotFound), refused():
        wait_to_rent(rin, ssh_key_ids=[foreign.pk])
    assert not Watch.objects.exists()


def test_the_number_of_places_is_limited_to_those_that_wait(full: Instance, alice: User) -> None:
    made = [wait_to_hear(alice) for _ in range(WATCHES_AT_MOST)]
    with pytest.raises(TooMany), refused():
        wait_to_hear(alice)
    cancel_entry(user=alice, watch_id=made[0].pk)
    wait_to_hear(alice)


# -- cancel and expiry


def test_cancel_frees_the_money_and_may_be_repeated(full: Instance, bob: User) -> None:
    grant(bob, 10 * UNIT)
    watch = wait_to_rent(bob)
    for _ in range(2):
        assert cancel_entry(user=bob, watch_id=watch.pk).state == WatchState.CANCELLED
        assert wallet(bob).held_micros == 0
    assert reload(watch).ended_at is not None
    assert_sound()


def test_a_stranger_cannot_cancel(full: Instance, bob: User, mallory: User) -> None:
    watch = wait_to_hear(bob)
    with pytest.raises(NotFound), refused():
        cancel_entry(user=mallory, watch_id=watch.pk)
    assert states(watch) == ["waiting"]


def test_what_ended_otherwise_cannot_be_cancelled(host: FakeHost, rin: User) -> None:
    watch = wait_to_rent(rin)
    serve()
    with pytest.raises(IllegalTransition), refused():
        cancel_entry(user=rin, watch_id=watch.pk)
    assert states(watch) == ["rented"]


def test_expiry_frees_the_money(full: Instance, bob: User, hours: Clock) -> None:
    grant(bob, 10 * UNIT)
    watch = wait_to_rent(bob)
    hours.advance(days=7, seconds=-1)
    assert expire_entries(now=clock.now()) == 0
    hours.advance(seconds=1)
    assert serve() == 0  # the pass itself expires first: what has expired is not served any more
    assert states(watch) == ["expired"]
    assert wallet(bob).held_micros == 0
    assert compare_watch_holds() == 0


def test_what_has_expired_is_not_served(host: FakeHost, rin: User, hours: Clock) -> None:
    watch = wait_to_rent(rin)
    hours.advance(days=7)
    host.sync()
    assert serve() == 0
    assert states(watch) == ["expired"]
    assert not Instance.objects.exists()


def test_the_ended_stay_listed_for_30_days(full: Instance, bob: User, hours: Clock) -> None:
    ended, waiting = wait_to_hear(bob), wait_to_hear(bob, lifetime=timedelta(days=30))
    cancel_entry(user=bob, watch_id=ended.pk)
    hours.advance(days=30)
    assert delete_old_entries(now=clock.now()) == 0
    hours.advance(seconds=1)
    assert delete_old_entries(now=clock.now()) == 1
    assert list(Watch.objects.all()) == [waiting]


# -- tell


def test_who_waits_to_hear_is_told_once(full: Instance, host: FakeHost, bob: User) -> None:
    watch = wait_to_hear(bob, "gpu=rtx-4090")
    assert serve() == 0
    free(host, full)
    assert serve() == 1
    assert serve() == 0
    notified = reload(watch)
    assert (notified.state, notified.offer_id) == ("told", host.offer.pk)
    now = clock.now()
    assert [queue_watch_mails(now=now), queue_watch_mails(now=now)] == [1, 0]
    [message] = sent()
    assert message.to == [bob.email]
    assert "RTX 4090" in message.body
    assert f"/offers/offr_{host.offer.pk.hex}" in message.body
    assert "gpu=rtx-4090" in message.body


def test_mail_is_in_the_language_of_the_page(full: Instance, host: FakeHost, bob: User) -> None:
    watch = wait_to_hear(bob)
    Watch.objects.filter(pk=watch.pk).update(language="zh-hans")
    free(host, full)
    serve()
    with patch("instances.wait_list.messages.override") as override:
        queue_watch_mails(now=clock.now())
    override.assert_called_once_with("zh-hans")


def test_mail_that_was_refused_is_tried_again(full: Instance, host: FakeHost, bob: User, hours: Clock) -> None:
    wait_to_hear(bob)
    free(host, full)
    serve()
    assert queue_watch_mails(now=clock.now()) == 1
    with patch("common.mail.mail.EmailMessage.send", side_effect=OSError("mail server away")):
        assert sent() == []
    hours.advance(minutes=1)
    assert (queue_watch_mails(now=clock.now()), len(sent())) == (0, 1)


def test_a_worker_that_dies_loses_no_mail(full: Instance, host: FakeHost, bob: User, hours: Clock) -> None:
    """Between the mark and the outbox, and in the middle of sending."""
    wait_to_hear(bob)
    free(host, full)
    serve()
    with killed_at("instances.wait_list.mail.queue_mail"):
        queue_watch_mails(now=clock.now())
    assert queue_watch_mails(now=clock.now()) == 1
    with killed_at("common.mail.mail.EmailMessage.send"):
        sent()
    assert (queue_watch_mails(now=clock.now()), sent()) == (0, [])
    hours.advance(seconds=MAIL_CLAIM.total_seconds())
    assert (queue_watch_mails(now=clock.now()), len(sent())) == (0, 1)


@pytest.mark.parametrize(("minutes", "notified"), [(59, 1), (60, 0)])
def test_nobody_is_told_of_a_gpu_that_was_free_long_ago(  # noqa: PLR0917  (fixtures)
    full: Instance, host: FakeHost, bob: User, hours: Clock, minutes: int, notified: int
) -> None:
    """The worker, or the mail server, is away for so long; told before, it is queued, and after, it is too late for it."""
    wait_to_hear(bob)
    free(host, full)
    serve()
    hours.advance(minutes=minutes)
    queue_watch_mails(now=clock.now())
    assert len(sent()) == notified


def test_other_news_is_told_for_three_days(full: Instance, host: FakeHost, bob: User, hours: Clock) -> None:
    grant(bob, 10 * UNIT)
    watch = wait_to_rent(bob)
    expire_entries(now=watch.expires_at)
    queue_watch_mails(now=clock.now())
    with patch("common.mail.mail.EmailMessage.send", side_effect=OSError("mail server away")):
        assert sent() == []
    hours.advance(days=2, hours=23)
    assert len(sent()) == 1


def test_news_of_days_ago_is_not_queued(full: Instance, host: FakeHost, bob: User, hours: Clock) -> None:
    wait_to_hear(bob)
    free(host, full)
    serve()
    hours.advance(days=3)
    assert queue_watch_mails(now=clock.now()) == 0


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (lambda watch: expire_entries(now=watch.expires_at), "expired"),
        (lambda watch: Image.objects.update(active=False) and serve(), "The image is no longer available."),
    ],
)
def test_other_ends_are_written_about_too(full: Instance, bob: User, end: Callable[[Watch], Any], words: str) -> None:
    grant(bob, 10 * UNIT)
    end(wait_to_rent(bob))
    assert queue_watch_mails(now=clock.now()) == 1
    [message] = sent()
    assert words in f"{message.subject} {message.body}"


def test_who_cancels_gets_no_mail(full: Instance, bob: User) -> None:
    cancel_entry(user=bob, watch_id=wait_to_hear(bob).pk)
    assert queue_watch_mails(now=clock.now()) == 0


# -- rent


def test_what_is_free_is_rented_at_its_own_price(host: FakeHost, rin: User) -> None:
    key = add_ssh_key(user=rin, name="", public_key=KEY)
    watch = wait_to_rent(rin, "gpu=rtx-4090 count=2", price=5 * UNIT, data_disk_gb=20, ssh_key_ids=[key.pk], name="night")
    assert wallet(rin).held_micros == 10 * UNIT
    assert serve() == 1
    instance = Instance.objects.get()
    assert (instance.renter, instance.name, instance.gpu_count, instance.data_disk_gb) == (rin, "night", 2, 20)
    assert instance.ssh_keys == [key.public_key]
    assert (reload(watch).state, reload(watch).instance, reload(watch).offer) == ("rented", instance, host.offer)
    assert wallet(rin).held_micros == 2 * PRICE  # the hold of the place has become that of the instance
    assert list(Hold.objects.filter(released_at=None).values_list("source_id", flat=True)) == [instance.pk]
    assert InstanceEvent.objects.filter(instance=instance, kind="rented_from_wait_list").count() == 1
    assert check_offers(repair=False) == []
    host.settle()
    instance.refresh_from_db()
    assert instance.state == "running"
    assert_sound()


def test_all_the_money_may_be_in_the_hold(host: FakeHost, bob: User) -> None:
    grant(bob, PRICE)
    watch = wait_to_rent(bob, price=PRICE)
    assert wallet(bob).spendable_micros == 0
    assert serve() == 1
    assert states(watch) == ["rented"]
    assert wallet(bob).held_micros == PRICE


def test_nothing_above_the_highest_price_is_rented(host: FakeHost, rin: User) -> None:
    watch = wait_to_rent(rin, price=PRICE - 1)
    assert serve() == 0
    assert states(watch) == ["waiting"]
    set_price(actor_id=host.owner.pk, offer_id=host.offer.pk, price_micros=PRICE - 1)
    assert serve() == 1
    assert states(watch) == ["rented"]


def test_the_cheapest_that_fits_is_rented(host: FakeHost, hana: User, rin: User) -> None:
    cheap = FakeHost(hana, price="1.20")
    wait_to_rent(rin)
    serve()
    assert Instance.objects.get().offer == cheap.offer


def test_repeated_passes_rent_once(host: FakeHost, rin: User) -> None:
    wait_to_rent(rin)
    assert [serve() for _ in range(5)] == [1, 0, 0, 0, 0]
    assert Instance.objects.count() == 1


@pytest.mark.parametrize("closed", ["draining", "frozen", "silent", "unlisted"])
def test_closed_offers_serve_nobody(host: FakeHost, rin: User, closed: str) -> None:
    if closed == "draining":
        set_draining(actor_id=host.owner.pk, host_id=host.host.pk, draining=True)
    elif closed == "unlisted":
        Offer.objects.filter(pk=host.offer.pk).update(listed=False)
    else:
        Host.objects.filter(pk=host.host.pk).update(state=HostState(closed))
    check_offers(repair=True)
    watches = wait_to_hear(rin), wait_to_rent(rin)
    assert serve() == 0
    assert states(*watches) == ["waiting", "waiting"]


def test_an_order_that_is_refused_leaves_the_place(host: FakeHost, rin: User) -> None:
    """The offer closes between the search and the order: nothing has changed, and the place is kept."""
    watch = wait_to_rent(rin)
    Host.objects.filter(pk=host.host.pk).update(engine_age_s=600)  # the offer's row does not say so yet
    assert serve() == 0
    assert states(watch) == ["waiting"]
    assert wallet(rin).held_micros == 4 * UNIT
    assert not Quote.objects.exists()
    Host.objects.filter(pk=host.host.pk).update(engine_age_s=0)
    assert serve() == 1


def test_after_a_refusal_the_next_offer_is_tried(host: FakeHost, hana: User, rin: User) -> None:
    cheap = FakeHost(hana, price="1.20")
    Host.objects.filter(pk=cheap.host.pk).update(engine_age_s=600)
    wait_to_rent(rin)
    assert serve() == 1
    assert Instance.objects.get().offer == host.offer


def test_a_price_that_rises_between_search_and_order_is_not_paid(host: FakeHost, rin: User) -> None:
    watch = wait_to_rent(rin, price=PRICE)

    def dearer(**wishes: Any) -> Quote:
        set_it = Offer.objects.filter(pk=host.offer.pk)
        set_it.update(price_micros=PRICE + 1, version=host.offer.version + 1)
        return create_quote(**wishes)

    with patch.object(service, "create_quote", dearer):
        assert serve() == 0
    assert states(watch) == ["waiting"]
    assert not Instance.objects.exists()


@pytest.mark.parametrize("reason", ["image_gone", "keys_gone", "account_closed", "search_unreadable"])
def test_a_place_that_can_never_be_served_ends_with_the_reason(host: FakeHost, rin: User, reason: str) -> None:
    key = add_ssh_key(user=rin, name="", public_key=KEY)
    watch = wait_to_rent(rin, ssh_key_ids=[key.pk])
    if reason == "image_gone":
        Image.objects.update(active=False)
    elif reason == "keys_gone":
        remove_ssh_key(user=rin, key_id=key.pk)
    elif reason == "account_closed":
        User.objects.filter(pk=rin.pk).update(is_active=False)
    else:
        Watch.objects.update(line="gpu=")
    assert serve() == 0
    assert (reload(watch).state, reload(watch).detail) == ("failed", reason)
    assert wallet(rin).held_micros == 0
    assert not Instance.objects.exists()


def test_a_broken_place_does_not_stop_those_behind_it(host: FakeHost, rin: User) -> None:
    broken, behind = wait_to_hear(rin, "region=mars"), wait_to_rent(rin)

    def breaks(watch: Watch) -> Any:
        if watch.pk == broken.pk:
            raise ZeroDivisionError
        return query_of(watch)

    with patch.object(service, "query_of", breaks):
        assert serve() == 1
    assert states(broken, behind) == ["waiting", "rented"]


def test_nobody_passes_by_while_the_database_refuses(host: FakeHost, image: Image) -> None:
    """A lock that is not got in time may be free a moment later: the next pass begins again with the first."""
    watches = wait_to_rent(renter()), wait_to_rent(renter())
    late = OperationalError("lock timeout")
    with patch.object(service, "create_quote", side_effect=late), pytest.raises(OperationalError):
        serve()
    assert states(*watches) == ["waiting", "waiting"]
    assert serve() == 2


# -- order


def test_who_came_first_is_served_first(host: FakeHost, image: Image) -> None:
    """Six want one GPU each of four: the first four get one, the others keep place and money."""
    waiting = [wait_to_rent(renter()) for _ in range(6)]
    assert serve() == 4
    assert states(*waiting) == ["rented"] * 4 + ["waiting"] * 2
    for watch in waiting[4:]:
        assert wallet(watch.user).held_micros == 4 * UNIT
        cancel_entry(user=watch.user, watch_id=watch.pk)
        assert wallet(watch.user).held_micros == 0
    assert compare_watch_holds() == 0


def test_who_wants_more_than_is_free_stops_nobody(host: FakeHost, rin: User) -> None:
    order(rin, host, gpu_count=2)
    many, few = wait_to_rent(renter(), "count=4"), wait_to_rent(renter(), "count=2")
    assert serve() == 1
    assert states(many, few) == ["waiting", "rented"]


def test_who_wants_something_else_stops_nobody(host: FakeHost, image: Image) -> None:
    other, this = wait_to_rent(renter(), "gpu=h200"), wait_to_rent(renter(), "gpu=rtx-4090")
    assert serve() == 1
    assert states(other, this) == ["waiting", "rented"]


def test_after_the_last_gpu_nobody_behind_is_told(host: FakeHost, rin: User, bob: User) -> None:
    order(rin, host, gpu_count=3)
    before, taker, after = wait_to_hear(bob), wait_to_rent(rin), wait_to_hear(bob)
    assert serve() == 2
    assert states(before, taker, after) == ["told", "rented", "waiting"]


def test_what_comes_free_in_the_middle_of_a_walk_goes_to_the_first(full: Instance, host: FakeHost, image: Image) -> None:
    """The first finds nothing; then a GPU comes free before the second has its turn: the walk begins again."""
    first, second = wait_to_rent(renter(), "gpu=rtx-4090"), wait_to_rent(renter())
    serve_one = service._Pass._serve

    def slowly(walk: Any, watch: Watch) -> bool:
        if watch.pk == second.pk and full.pk and not freed:
            freed.append(True)
            free(host, full)
            order(full.renter, host, gpu_count=3)
        return serve_one(walk, watch)

    freed: list[bool] = []
    with patch.object(service._Pass, "_serve", slowly):
        assert serve() == 1
    assert freed
    assert states(first, second) == ["rented", "waiting"]


def test_without_the_second_look_the_first_would_be_overtaken(full: Instance, host: FakeHost, image: Image) -> None:
    """The paired test: it is the second look that keeps the order."""
    with patch.object(service._Pass, "_fits_an_earlier_place", return_value=False), pytest.raises(AssertionError):
        test_what_comes_free_in_the_middle_of_a_walk_goes_to_the_first(full, host, image)


def test_a_release_hints_at_the_wait_list(
    full: Instance, host: FakeHost, bob: User, django_capture_on_commit_callbacks: Any
) -> None:
    wait_to_hear(bob)
    with patch.object(capacity_hints, "enqueue") as enqueue:
        free(host, full)
    assert [call.args for call in enqueue.call_args_list] == [("instances.serve_watches",)]


def test_a_release_hints_at_nothing_while_nobody_waits(full: Instance, host: FakeHost) -> None:
    with patch.object(service, "enqueue") as enqueue:
        free(host, full)
    enqueue.assert_not_called()


# -- the audit of the money


def test_an_orphan_hold_is_a_finding(full: Instance, bob: User) -> None:
    grant(bob, 10 * UNIT)
    watch = wait_to_rent(bob)
    execute("UPDATE instances_watch SET state = 'cancelled', ended_at = now()")
    assert compare_watch_holds() == 1
    incident = Incident.objects.get()
    assert (incident.kind, incident.subject) == ("watch_hold_difference", f"watch_{watch.pk.hex}")


def test_a_place_without_its_hold_is_a_finding(full: Instance, bob: User) -> None:
    grant(bob, 10 * UNIT)
    wait_to_rent(bob)
    execute("UPDATE billing_hold SET released_at = now() WHERE source_kind = 'watch'")
    assert compare_watch_holds() == 1


def test_to_hear_and_to_wait_are_no_findings(full: Instance, bob: User) -> None:
    grant(bob, 10 * UNIT)
    wait_to_hear(bob)
    wait_to_rent(bob)
    assert compare_watch_holds() == 0
    assert_sound()
