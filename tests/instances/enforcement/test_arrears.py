"""The ladder of arrears: low, exhausted, the data's dated end; who is told what and when; money that comes in between."""

import smtplib
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core import mail
from django.utils.translation import gettext, override

from accounts.mail.outbox import send_mails
from accounts.models import User
from billing.ledger.postings import Movement, post
from billing.metering.costs import exhausted_sources
from billing.metering.settle import extend_holds
from billing.models import Entry, Notice, Posting, Standing, Wallet
from billing.standing import mail as standing_mail
from billing.standing.selectors import announced_releases, standing_of, wallet_now
from common import clock
from instances.enforcement import arrears, sweeps
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance, InstanceEvent
from instances.release.services import expire_instance
from marketplace.models import Host
from tests.billing.money import START, UNIT, assert_sound, at, grant, wallet
from tests.instances.fake_host import FakeHost, order_running, reload
from tests.instances.fixtures import Clock
from tests.mails import Killed


def run_for(host: FakeHost, clock_of: Clock, /, **span: float) -> None:
    """The market lives on, minute by minute."""
    end = clock.now() + timedelta(**span)
    while clock.now() < end:
        clock_of.advance(seconds=min(100.0, (end - clock.now()).total_seconds()))
        host.sync()
        extend_holds(now=clock.now())
        sweeps.stop_exhausted(now=clock.now())


def judge() -> int:
    return arrears.enforce_standings(now=clock.now())


def send() -> int:
    standing_mail.queue_notices(now=clock.now())
    return send_mails(now=clock.now())


@pytest.fixture
def short(alice: User, host: FakeHost) -> Instance:
    """3.60 an hour with 10.00: good for two hours, and a rest that pays for no third."""
    grant(alice, 10 * UNIT)
    return order_running(alice, host)


def test_a_wallet_that_was_never_judged_is_in_good_standing(alice: User) -> None:
    assert (standing_of(owner_id=alice.pk).state, judge()) == ("good", 0)
    assert not Standing.objects.exists()


def test_less_than_a_day_is_low_with_the_date_at_which_the_money_ends(alice: User, short: Instance) -> None:
    assert judge() == 1
    standing = standing_of(owner_id=alice.pk)
    assert (standing.state, standing.since) == ("low", START)
    # 10.00 at 3.60 an hour: 2 h 46 min 40 s, the first hour's hold among it.
    assert standing.next_state_at == at(hours=2, minutes=46, seconds=40)
    assert judge() == 0, "once"
    now = wallet_now(owner_id=alice.pk, now=START)
    assert (now.runway_hours, now.standing) == (2.8, standing)


def test_a_day_is_enough_and_it_is_left_again_an_hour_above(alice: User, host: FakeHost) -> None:
    grant(alice, 24 * 3_600_000 - 1)
    order_running(alice, host)
    judge()
    assert standing_of(owner_id=alice.pk).state == "low", "a millionth short of 24 hours"
    grant(alice, 1 + 3_599_999)
    assert judge() == 0, "a millionth short of 25 hours: still low, so that it does not flap"
    grant(alice, 1)
    assert judge() == 1
    standing = standing_of(owner_id=alice.pk)
    assert (standing.state, standing.next_state_at) == ("good", None)


def test_the_ladder_from_low_to_the_end_of_the_data(
    alice: User, host: FakeHost, short: Instance, hours: Clock, mailoutbox: list[mail.EmailMessage]
) -> None:
    judge()
    assert send() == 1
    assert mailoutbox[-1].subject == "Your balance is low"
    assert "2025-03-01 12:16 UTC" in mailoutbox[-1].body, "09:30 and 2 h 46 min 40 s"
    run_for(host, hours, hours=2, minutes=1)
    instance = reload(short)
    assert instance.state in ("stopping", "stopped")
    assert instance.stop_requested_at is not None and at(hours=2) <= instance.stop_requested_at < at(hours=2, seconds=100)
    host.settle()
    assert wallet(alice).balance_micros == 2_800_000, "10.00 less two hours of 3.60"
    judge()
    ends = reload(short).release_at
    proven = reload(short).stopped_at
    assert ends is not None and proven is not None and ends == proven + timedelta(days=30)
    standing = standing_of(owner_id=alice.pk)
    assert (standing.state, standing.next_state_at) == ("exhausted", ends)
    assert send() == 1
    assert f"earliest deletion is at {ends:%Y-%m-%d %H:%M} UTC" in mailoutbox[-1].body
    notices = [told_at(hours, ends - timedelta(days=days), seconds=1) for days in (7, 3, 1)]
    assert notices == [1, 1, 1]
    assert [message.subject for message in mailoutbox[2:]] == [f"box: data will be deleted at {ends:%Y-%m-%d %H:%M} UTC"] * 3
    assert announced_releases([short.pk]) == {short.pk: ends}
    told_at(hours, ends, seconds=-1)
    assert sweeps.purge_expired(now=clock.now()) == 0, "a second before the announced date"
    told_at(hours, ends)
    assert sweeps.purge_expired(now=clock.now()) == 1
    assert_sound()


def told_at(hours: Clock, moment: object, seconds: float = 0) -> int:
    """Go there, announce and send, twice each; how many mails left."""
    hours.advance(seconds=(moment - clock.now()).total_seconds() + seconds)  # type: ignore[operator]
    counts = [arrears.announce_data_ends(now=clock.now()), arrears.announce_data_ends(now=clock.now()), send(), send()]
    assert counts[1] == counts[3] == 0
    return counts[2]


def test_whoever_is_told_late_is_told_what_is_still_true(rin: User, host: FakeHost, hours: Clock) -> None:
    """The sweep was down from before the week until two days before the end: one announcement, of three days or less."""
    stopped(rin, host)
    hours.advance(days=28)
    assert arrears.announce_data_ends(now=clock.now()) == 1
    assert Notice.objects.get(kind="release").facts["days"] == 3


def stopped(renter: User, host: FakeHost) -> Instance:
    instance = order_running(renter, host)
    stop_instance(renter=renter, instance_id=instance.pk)
    host.settle()
    return reload(instance)


def test_the_purge_keeps_to_the_date_that_was_told_whatever_the_row_says(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = stopped(rin, host)
    hours.advance(days=24)
    arrears.announce_data_ends(now=clock.now())
    Instance.objects.filter(pk=instance.pk).update(release_at=clock.now())  # a mistake of somebody's, a month too early
    assert sweeps.purge_expired(now=clock.now()) == 0
    assert not expire_instance(instance_id=instance.pk)
    hours.advance(days=6, seconds=-1)
    assert sweeps.purge_expired(now=clock.now()) == 0
    hours.advance(seconds=1)
    assert sweeps.purge_expired(now=clock.now()) == 1


def test_announced_dates_never_move_earlier(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = stopped(rin, host)
    hours.advance(days=29, hours=12)
    arrears.announce_data_ends(now=clock.now())
    (first,) = announced_releases([instance.pk]).values()
    Host.objects.update(last_seen_at=clock.now())
    host.sync()
    start_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    assert reload(instance).release_at is None
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    later = reload(instance).release_at
    assert later is not None and later == clock.now() + timedelta(days=30) > first
    hours.advance(days=1)
    assert arrears.announce_data_ends(now=clock.now()) == sweeps.purge_expired(now=clock.now()) == 0
    hours.advance(days=23)
    assert arrears.announce_data_ends(now=clock.now()) == 1
    assert announced_releases([instance.pk]) == {instance.pk: later}


def test_money_ends_the_exhaustion_and_a_start_ends_the_date(
    alice: User, host: FakeHost, short: Instance, hours: Clock
) -> None:
    run_for(host, hours, hours=2, minutes=1)
    host.settle()
    judge()
    grant(alice, 800_000 - 1)
    assert judge() == 0, "2.80 and 0.80 are 3.60, an hour; a millionth is missing"
    grant(alice, 1)
    assert judge() == 1
    assert standing_of(owner_id=alice.pk).state == "good"
    start_instance(renter=alice, instance_id=short.pk)
    host.settle()
    assert reload(short).release_at is None
    judge()
    assert standing_of(owner_id=alice.pk).state == "low"


def test_low_again_within_a_day_is_no_second_mail(alice: User, host: FakeHost, short: Instance, hours: Clock) -> None:
    judge()
    for day, mails in ((timedelta(hours=2), 1), (timedelta(hours=23), 2)):
        grant(alice, 500 * UNIT)
        assert judge() == 1
        Host.objects.update(last_seen_at=clock.now())
        from_wallet(alice, 500 * UNIT)
        hours.advance(seconds=day.total_seconds())
        assert judge() == 1
        assert Notice.objects.filter(kind="low").count() == mails


def from_wallet(user: User, micros: int) -> None:
    """Taken by a payment of another kind: here a grant that is taken back by hand."""
    funding = Wallet.objects.get(kind="funding")
    post(
        key=f"back:{clock.now()}:{micros}",
        kind=Posting.Kind.TRANSFER,
        source_kind="transfer",
        source_id=user.pk,
        memo="back",
        actor="test",
        movements=[
            Movement(wallet(user).pk, Entry.Kind.CREDIT, -micros),
            Movement(funding.pk, Entry.Kind.FUNDING, micros),
        ],
        at=clock.now(),
    )


# -- mails that fail, workers that die


def test_each_reads_in_their_own_language(alice: User, short: Instance, mailoutbox: list[mail.EmailMessage]) -> None:
    User.objects.filter(pk=alice.pk).update(language="zh-hans")
    judge()
    send()
    with override("zh-hans"):
        assert mailoutbox[-1].subject == gettext("Your balance is low")


def test_a_mail_that_the_server_refused_is_sent_later_once(
    alice: User, short: Instance, hours: Clock, mailoutbox: list[mail.EmailMessage], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge()
    with monkeypatch.context() as broken:
        broken.setattr("common.mail.mail.EmailMessage.send", refuse)
        assert send() == 0
    assert send() == 0, "claimed a moment ago"
    hours.advance(minutes=10)
    assert (send(), send()) == (1, 0)
    assert len(mailoutbox) == 1


def refuse(*_: object) -> None:
    raise smtplib.SMTPServerDisconnected("gone")


@pytest.mark.parametrize("sent_before", [False, True])
def test_a_worker_that_dies_loses_no_mail_and_doubles_at_most_the_one_in_hand(  # noqa: PLR0917  (fixtures)
    alice: User,
    bob: User,
    host: FakeHost,
    short: Instance,
    hours: Clock,
    mailoutbox: list[mail.EmailMessage],
    monkeypatch: pytest.MonkeyPatch,
    sent_before: bool,
) -> None:
    grant(bob, 10 * UNIT)
    order_running(bob, host)
    judge()
    real: Callable[..., int] = mail.EmailMessage.send

    def die(*message: object) -> None:
        if sent_before:
            real(*message)
        raise Killed

    with monkeypatch.context() as dying:
        dying.setattr("common.mail.mail.EmailMessage.send", die)
        with pytest.raises(Killed):
            send()
    assert send() == 1, "the other one, by another worker at once"
    hours.advance(minutes=10)
    assert (send(), send()) == (1, 0)
    to = [address for message in mailoutbox for address in message.to]
    assert ({alice.email, bob.email}, len(to)) == (set(to), 2 + sent_before)


# -- a top-up while the stop is under way (faults.md row 64)


@pytest.fixture
def due(alice: User, host: FakeHost, short: Instance, hours: Clock) -> Instance:
    """Two hours are over and the third cannot be paid; the sweep has not come by."""
    run_for(host, hours, hours=1, minutes=59)
    extend_holds(now=clock.now())
    hours.advance(minutes=1)
    host.sync()
    return short


def paid_in_between(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweep has read who cannot pay; then money comes in."""
    read = exhausted_sources

    def read_then_pay(**options: object) -> object:
        found = read(**options)  # type: ignore[arg-type]
        assert found
        grant(alice, 100 * UNIT)
        return found

    monkeypatch.setattr(sweeps, "exhausted_sources", read_then_pay)


def test_fault_064_a_top_up_before_the_stop_is_sent_keeps_it_running(
    alice: User, host: FakeHost, due: Instance, hours: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as between:
        paid_in_between(alice, between)
        assert sweeps.stop_exhausted(now=clock.now()) == 0
    assert reload(due).state == "running"
    assert extend_holds(now=clock.now()) == 1
    run_for(host, hours, minutes=30)
    stop_instance(renter=alice, instance_id=due.pk)
    host.settle()
    assert wallet(alice).balance_micros == (110 - 9) * UNIT, "2 h 30 min at 3.60, no second twice"
    assert_sound()


def test_fault_064_its_pair_without_asking_again_stops_what_is_paid(
    alice: User, due: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid_in_between(alice, monkeypatch)
    monkeypatch.setattr(sweeps, "is_unpaid", lambda **_: True)
    assert sweeps.stop_exhausted(now=clock.now()) == 1
    assert reload(due).state == "stopping", "so the wall is what keeps it running"
    assert InstanceEvent.objects.filter(instance=due, kind="funds_exhausted").count() == 1
