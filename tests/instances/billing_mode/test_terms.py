"""Reserved terms: paid, begun, kept through stops, interrupted by the host, ended, renewed, ended early; sums by hand."""

from datetime import timedelta
from typing import Any

import pytest

from accounts.models import Membership, User
from accounts.teams.services import create_team
from billing.audit.selectors import all_findings
from billing.errors import InsufficientFunds, NotTransferable, OwesMoney
from billing.models import Hold, Meter, Order, Posting
from billing.payments.selectors import unspent_cash_micros
from billing.payouts.selectors import payable_of
from billing.transfers.services import transfer_money
from common import clock
from common.errors import IllegalTransition, InvalidInput
from instances.billing_mode.change_quotes import quote_change
from instances.billing_mode.convert import convert_instance, extend_instance
from instances.enforcement.sweeps import end_terms
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance, InstanceEvent, Term
from instances.release.services import release_instance
from marketplace.hosts.offers import set_price
from marketplace.leasing.selectors import live_leases_of
from marketplace.models import Lease
from tests.billing.coupon_money import redeem
from tests.billing.money import UNIT, execute, grant, pay_in, triggers_off
from tests.instances.fake_host import FakeHost, refused, reload
from tests.instances.fixtures import Clock
from tests.instances.modes import (
    assert_all_well,
    balance,
    converted,
    held,
    market,
    pass_time,
    quoted,
    rented,
    running,
    sell,
)

DAY = 86_400
LONG = 3 * 3600


@pytest.fixture
def seller(rin: User, host: FakeHost) -> FakeHost:
    sell(host)
    return host


def term_of(instance: Instance) -> Term:
    return Term.objects.filter(instance=instance).latest("starts_at")


def kinds(instance: Instance) -> list[str]:
    return [event.kind for event in InstanceEvent.objects.filter(instance=instance)][::-1]


def test_upfront_is_paid_at_the_order_and_begins_with_the_first_run(rin: User, seller: FakeHost, hours: Clock) -> None:
    quote = quoted(rin, seller, "reserved", term="day", gpu_count=2)
    assert quote.due_now_micros == quote.committed_micros == 24 * 2 * 3_420_000
    instance = rented(rin, seller, "reserved", term="day", gpu_count=2)
    paid = 164_160_000
    assert (balance(rin), market("escrow"), held(rin)) == (1000 * UNIT - paid, paid, 0)
    assert (term_of(instance).state, Meter.objects.count()) == ("next", 0)
    order = Order.objects.get(source_id=instance.pk)
    assert (order.kind, order.amount_micros, order.rate_micros_per_hour) == ("rent", paid, 6_840_000)
    hours.advance(seconds=300)
    seller.settle()
    term = term_of(instance)
    assert (term.state, term.starts_at, term.ends_at - term.starts_at) == ("active", clock.now(), timedelta(days=1))
    pass_time(seller, hours, 3 * 3600)
    # Three hours of 6.84: a tenth to the platform, the rest to the host; the renter's wallet is as it was.
    assert market("escrow") == paid - 20_520_000
    assert balance(seller.owner, "host") == 18_468_000
    assert balance(rin) == 1000 * UNIT - paid
    assert_all_well()


def test_stop_and_start_inside_a_term_move_no_lease_and_no_money(rin: User, seller: FakeHost, hours: Clock) -> None:
    instance = running(rin, seller, "reserved", term="week")
    before = list(Lease.objects.values_list("pk", "released_at"))
    stop_instance(renter=rin, instance_id=instance.pk)
    seller.settle()
    stopped = reload(instance)
    assert (stopped.state, stopped.holds_gpus, stopped.release_at) == ("stopped", True, None)
    pass_time(seller, hours, 7200)
    start_instance(renter=rin, instance_id=instance.pk)
    seller.settle()
    assert reload(instance).state == "running"
    assert reload(instance).holds_gpus is False
    assert list(Lease.objects.values_list("pk", "released_at")) == before
    pass_time(seller, hours, 3600)
    assert market("escrow") == 168 * 3_240_000 - 3 * 3_240_000
    assert_all_well()


def test_a_term_of_24_hours_costs_24_hours_and_goes_on_hourly(rin: User, seller: FakeHost, hours: Clock) -> None:
    instance = running(rin, seller, "reserved", term="day")
    set_price(actor_id=seller.owner.pk, offer_id=seller.offer.pk, price_micros=9 * UNIT)
    pass_time(seller, hours, DAY + 3600, first=LONG)
    term = term_of(instance)
    assert (term.state, market("escrow")) == ("ended", 0)
    after = reload(instance)
    assert (after.state, after.billing_mode, after.rate_micros_per_hour) == ("running", "hourly", 3_600_000)
    # The day at 3.42, then one hour at the 3.60 of the day it was rented: a later price never touches the lease.
    assert balance(rin) == 1000 * UNIT - 24 * 3_420_000 - 3_600_000
    assert "term_over" in kinds(instance)
    assert_all_well()


def test_a_term_that_is_over_frees_the_gpus_of_what_is_stopped(rin: User, seller: FakeHost, hours: Clock) -> None:
    instance = running(rin, seller, "reserved", term="day")
    stop_instance(renter=rin, instance_id=instance.pk)
    seller.settle()
    ends_at = term_of(instance).ends_at
    pass_time(seller, hours, DAY + 100, first=LONG)
    after = reload(instance)
    assert (after.state, after.holds_gpus, after.release_at) == ("stopped", False, ends_at + timedelta(days=30))
    assert live_leases_of(instance.pk) == []
    assert balance(rin) == 1000 * UNIT - 24 * 3_420_000
    assert_all_well()


def test_the_sweep_ends_terms_of_hosts_that_are_silent(rin: User, seller: FakeHost, hours: Clock) -> None:
    instance = running(rin, seller, "reserved", term="day")
    pass_time(seller, hours, 3600)
    hours.advance(days=2)
    assert end_terms(now=clock.now()) >= 1
    assert (term_of(instance).state, market("escrow")) == ("ended", 0)
    assert balance(rin) == 1000 * UNIT - 3_420_000, "one hour was proven; the rest of the day came back"
    assert end_terms(now=clock.now()) == 0


def test_an_outage_inside_a_prepaid_term_is_not_charged(rin: User, seller: FakeHost, hours: Clock) -> None:
    instance = running(rin, seller, "reserved", term="day")
    pass_time(seller, hours, 3600)
    hours.advance(hours=5)  # silence
    pass_time(seller, hours, 18 * 3600)
    pass_time(seller, hours, 100)
    assert term_of(instance).state == "ended"
    # 24 h less the silence of 5 h and the half hour until the report after it, at 3.42; then 100 s hourly, not posted yet.
    assert (1000 * UNIT - balance(rin), market("escrow")) == (3_420_000 * 37 // 2, 0)
    assert reload(instance).billing_mode == "hourly"
    returned = Posting.objects.get(idempotency_key__endswith=":returned")
    assert "did not answer" in returned.memo
    assert_all_well()


def test_a_failure_of_the_host_gives_the_last_hour_back_and_pauses_the_term(
    rin: User, seller: FakeHost, hours: Clock
) -> None:
    instance = running(rin, seller, "reserved", term="day")
    pass_time(seller, hours, 2 * 3600)
    seller.end(instance, "removed")
    seller.sync()
    assert reload(instance).state == "failed"
    assert not Meter.objects.filter(closed_at=None).exists(), "nothing is charged while it is broken"
    assert market("escrow") == 24 * 3_420_000 - 3_420_000, "two hours were charged, one came back"
    assert live_leases_of(instance.pk) != []
    hours.advance(seconds=60)
    seller.settle()
    kept = reload(instance)
    assert (kept.holds_gpus, kept.release_at) == (True, None)
    assert Meter.objects.filter(closed_at=None).count() == 1, "it can be started again, so the term goes on"
    start_instance(renter=rin, instance_id=instance.pk)
    seller.settle()
    pass_time(seller, hours, DAY, first=LONG)
    assert term_of(instance).state == "ended"
    assert market("escrow") == 0
    assert_all_well()


def test_nothing_upfront_is_charged_hour_by_hour_used_or_not(rin: User, seller: FakeHost, hours: Clock) -> None:
    instance = running(rin, seller, "reserved", term="month", payment="none")
    assert (balance(rin), held(rin)) == (1000 * UNIT, 73 * 2_880_000)  # the deposit of 72 hours, and an hour
    stop_instance(renter=rin, instance_id=instance.pk)
    seller.settle()
    pass_time(seller, hours, 10 * 3600, first=LONG)
    assert balance(rin) == 1000 * UNIT - 28_800_000
    assert_all_well()


def test_early_end_of_a_prepaid_term_by_hand(rin: User, seller: FakeHost, hours: Clock) -> None:
    """Ten hours of a week at 3.24: 32.40, anew at 3.60 + 5 % = 37.80; of the 544.32 that were paid 506.52 come back."""
    instance = running(rin, seller, "reserved", term="week")
    pass_time(seller, hours, 10 * 3600, first=LONG)
    quote = quote_change(renter=rin, instance_id=instance.pk, billing_mode="hourly")
    assert quote.lines[-1]["item"] == "Early end of the reserved term"
    convert_instance(renter=rin, instance_id=instance.pk, quote_id=quote.pk)
    term = term_of(instance)
    assert (term.state, term.exit_fee_micros) == ("exited", 5_400_000)
    assert (balance(rin), market("escrow")) == (1000 * UNIT - 37_800_000, 0)
    assert balance(seller.owner, "host") == 34_020_000
    assert int(float(quote.lines[-1]["amount"]) * UNIT) >= -506_520_000, "a quote never promises more than comes back"
    order = Order.objects.get(kind="early_end")
    assert order.amount_micros == -506_520_000
    assert (reload(instance).state, reload(instance).billing_mode) == ("running", "hourly")
    pass_time(seller, hours, 3600)
    assert balance(rin) == 1000 * UNIT - 37_800_000 - 3_600_000
    assert_all_well()


def test_an_early_end_never_costs_more_than_the_term(rin: User, seller: FakeHost, hours: Clock) -> None:
    instance = running(rin, seller, "reserved", term="day")
    pass_time(seller, hours, 23 * 3600, first=LONG)
    converted(rin, instance, "hourly")
    assert balance(rin) == 1000 * UNIT - 24 * 3_420_000
    assert_all_well()


def test_early_end_without_upfront_is_owed_at_once(rin: User, seller: FakeHost, hours: Clock) -> None:
    """Ten hours at 2.88 = 28.80, anew 37.80: 9.00 more."""
    instance = running(rin, seller, "reserved", term="month", payment="none")
    pass_time(seller, hours, 10 * 3600, first=LONG)
    converted(rin, instance, "hourly")
    assert balance(rin) == 1000 * UNIT - 37_800_000
    assert_all_well()


# A month at 80 % off: 0.72 an hour. 20 hours cost 14.40, anew 75.60: 61.20 are due at an early end.
RATE = 720_000
DEPOSIT = 72 * RATE
DUE = 61_200_000


@pytest.fixture
def cheap(rin: User, host: FakeHost) -> FakeHost:
    sell(host, reserved_discounts={"day": 500, "month": 8_000})
    return host


def run_for_20_hours(renter: User, host: FakeHost, hours: Clock) -> Instance:
    instance = running(renter, host, "reserved", term="month", payment="none")
    pass_time(host, hours, 20 * 3600, first=LONG)
    return instance


def test_the_audit_knows_what_a_deposit_is_held_for(rin: User, cheap: FakeHost, hours: Clock) -> None:
    run_for_20_hours(rin, cheap, hours)
    assert all_findings() == []
    with triggers_off():
        execute("UPDATE billing_hold SET amount_micros = amount_micros - 1 WHERE source_kind = 'deposit'")
        execute("UPDATE billing_wallet SET held_micros = held_micros - 1 WHERE kind = 'renter'")
    assert {finding.code for finding in all_findings()} == {"I38"}
    with triggers_off():
        execute("UPDATE billing_commitment SET ended_at = now()")
    assert {finding.code for finding in all_findings()} == {"I32"}, "nobody would ever let go of it"


def test_a_change_that_cannot_be_paid_is_refused_and_a_release_is_owed(bob: User, cheap: FakeHost, hours: Clock) -> None:
    """The deposit has 51.84 of the 61.20, the wallet 0.96."""
    grant(bob, DEPOSIT + 21 * RATE + 240_000)
    instance = run_for_20_hours(bob, cheap, hours)
    with refused(), pytest.raises(InsufficientFunds):
        converted(bob, instance, "hourly")
    assert (reload(instance).billing_mode, term_of(instance).state) == ("reserved", "active")
    release_instance(renter=bob, instance_id=instance.pk)
    cheap.settle()
    assert term_of(instance).exit_fee_micros == DUE
    assert (balance(bob), balance(bob, "debt")) == (0, -8_400_000)
    assert not Hold.objects.filter(released_at=None).exists()
    assert_all_well()


def test_the_same_wallet_cannot_order_it_again_and_top_ups_repay_first(bob: User, cheap: FakeHost, hours: Clock) -> None:
    """The audit's way: nothing upfront, a wallet of 16.00, used, ended, no debt, again."""
    grant(bob, 16 * UNIT)
    with refused(), pytest.raises(InsufficientFunds):
        rented(bob, cheap, "reserved", term="month", payment="none")
    grant(bob, DEPOSIT + 20 * RATE - 16 * UNIT)
    instance = run_for_20_hours(bob, cheap, hours)
    release_instance(renter=bob, instance_id=instance.pk)
    cheap.settle()
    owed = -balance(bob, "debt")
    assert owed == DUE - DEPOSIT
    redeem(bob, 500)  # coupons do not help
    month = {"term": "month", "payment": "none"}
    choices: tuple[tuple[str, dict[str, Any]], ...] = (("hourly", {}), ("reserved", {"term": "day"}), ("reserved", month))
    for mode, wishes in choices:
        with refused(), pytest.raises(OwesMoney):
            rented(bob, cheap, mode, **wishes)
    pay_in(bob, owed - 1)
    with refused(), pytest.raises(OwesMoney):
        rented(bob, cheap, "hourly")
    pay_in(bob, 10 * UNIT)
    assert (balance(bob, "debt"), balance(bob)) == (0, 10 * UNIT - 1)
    assert rented(bob, cheap, "hourly").state == "requested"
    assert_all_well()


def test_the_hosts_share_of_what_is_owed_is_not_paid_out_before_it_is(bob: User, cheap: FakeHost, hours: Clock) -> None:
    """Else a friend's host with a huge discount makes cash of a debt that nobody ever pays."""
    grant(bob, DEPOSIT + 20 * RATE)
    instance = run_for_20_hours(bob, cheap, hours)
    release_instance(renter=bob, instance_id=instance.pk)
    owed = -balance(bob, "debt")
    later = clock.now() + timedelta(days=60)
    earned = balance(cheap.owner, "host")
    assert earned == 75_600_000 * 9 // 10
    found = payable_of(owner_id=cheap.owner.pk, now=later)
    assert (found.disputed_micros, found.payable_micros) == (owed, (earned - owed) // 10_000 * 10_000)
    pay_in(bob, owed)
    assert payable_of(owner_id=cheap.owner.pk, now=later).payable_micros == earned


def test_what_an_early_end_would_cost_is_neither_passed_on_nor_sent_back(
    bob: User, alice: User, cheap: FakeHost, hours: Clock
) -> None:
    """Of the 61.20 the deposit has 51.84: 9.36 of the wallet stay."""
    pay_in(bob, DEPOSIT + 20 * RATE + RATE + 100 * UNIT)
    team = create_team(user=bob, name="Lab")
    Membership.objects.create(team=team, user=alice, email=alice.email, joined_at=clock.now())
    instance = run_for_20_hours(bob, cheap, hours)
    most = balance(bob) - held(bob) - (DUE - DEPOSIT)
    assert unspent_cash_micros(bob.pk) == most
    with refused(), pytest.raises(NotTransferable, match=r"covers reserved terms"):
        transfer_money(sender=bob, team_id=team.pk, to_id=alice.pk, amount_micros=most + 1)
    transfer_money(sender=bob, team_id=team.pk, to_id=alice.pk, amount_micros=most)
    kept = balance(bob) - DUE
    release_instance(renter=bob, instance_id=instance.pk)
    assert (balance(bob), balance(bob, "debt")) == (kept, 0)
    assert kept >= 0
    assert_all_well()


def test_an_empty_wallet_ends_the_term_early_and_the_rest_is_owed(bob: User, cheap: FakeHost, hours: Clock) -> None:
    """20 hours were paid for; the deposit has 51.84 of what is due, and the wallet 0.24."""
    grant(bob, DEPOSIT + 20 * RATE + 240_000)
    instance = running(bob, cheap, "reserved", term="month", payment="none")
    pass_time(cheap, hours, 22 * 3600, first=LONG)
    term = term_of(instance)
    assert (term.state, balance(bob), term.exit_fee_micros) == ("exited", 0, DUE)
    assert balance(bob, "debt") == -9_120_000
    cheap.settle()
    assert reload(instance).state == "stopped"
    assert live_leases_of(instance.pk) == []
    assert "term_unpaid" in kinds(instance)
    assert_all_well()


def test_a_term_that_never_began_gives_its_deposit_back(rin: User, cheap: FakeHost) -> None:
    instance = rented(rin, cheap, "reserved", term="month", payment="none")
    assert held(rin) == DEPOSIT + RATE
    release_instance(renter=rin, instance_id=instance.pk)
    cheap.settle()
    assert (balance(rin), held(rin)) == (1000 * UNIT, 0)
    assert_all_well()


def test_a_term_that_is_over_gives_its_deposit_back(rin: User, cheap: FakeHost, hours: Clock) -> None:
    instance = running(rin, cheap, "reserved", term="month", payment="none")
    hours.advance(days=31)
    end_terms(now=clock.now())
    assert term_of(instance).state == "ended"
    assert not Hold.objects.filter(released_at=None, source_kind="deposit").exists()


def test_release_ends_a_term_early_and_gives_back(rin: User, seller: FakeHost, hours: Clock) -> None:
    instance = running(rin, seller, "reserved", term="week")
    pass_time(seller, hours, 10 * 3600, first=LONG)
    release_instance(renter=rin, instance_id=instance.pk)
    seller.settle()
    assert reload(instance).state == "gone"
    assert balance(rin) == 1000 * UNIT - 37_800_000
    assert not Hold.objects.filter(released_at=None).exists()
    assert_all_well()


def test_a_term_that_never_began_comes_back_whole(rin: User, seller: FakeHost) -> None:
    instance = rented(rin, seller, "reserved", term="day")
    seller.sync()
    stop_instance(renter=rin, instance_id=instance.pk)
    seller.settle()
    assert live_leases_of(instance.pk) == [], "GPUs are not held for nothing"
    release_instance(renter=rin, instance_id=instance.pk)
    seller.settle()
    assert (balance(rin), market("escrow")) == (1000 * UNIT, 0)
    assert_all_well()


def test_renewed_ahead_the_next_term_follows_without_a_gap(rin: User, seller: FakeHost, hours: Clock) -> None:
    instance = running(rin, seller, "reserved", term="day")
    quote = quote_change(renter=rin, instance_id=instance.pk, billing_mode="reserved", term="week")
    extend_instance(renter=rin, instance_id=instance.pk, quote_id=quote.pk)
    assert balance(rin) == 1000 * UNIT - 24 * 3_420_000 - 168 * 3_240_000
    with pytest.raises(IllegalTransition):
        quote_change(renter=rin, instance_id=instance.pk, billing_mode="reserved", term="day")
    pass_time(seller, hours, DAY + 3600, first=LONG)
    first, second = Term.objects.filter(instance=instance).order_by("starts_at")
    assert (first.state, second.state, second.starts_at) == ("ended", "active", first.ends_at)
    assert market("escrow") == 167 * 3_240_000
    assert [order.kind for order in Order.objects.order_by("created_at")] == ["rent", "renewal"]
    assert_all_well()


def test_renewed_by_itself_at_the_present_price(rin: User, seller: FakeHost, hours: Clock) -> None:
    instance = running(rin, seller, "reserved", term="day", auto_renew=True)
    set_price(actor_id=seller.owner.pk, offer_id=seller.offer.pk, price_micros=4 * UNIT)
    pass_time(seller, hours, DAY + 100, first=LONG)
    assert balance(rin) == 1000 * UNIT - 24 * 3_420_000 - 24 * 3_800_000
    assert term_of(instance).list_unit_micros == 4 * UNIT
    extend_instance(renter=rin, instance_id=instance.pk, auto_renew=False)
    pass_time(seller, hours, DAY + 100, first=LONG)
    assert reload(instance).billing_mode == "hourly"
    assert_all_well()


def test_a_renewal_that_cannot_be_paid_goes_on_hourly(bob: User, seller: FakeHost, hours: Clock) -> None:
    grant(bob, 90 * UNIT)
    instance = running(bob, seller, "reserved", term="day", auto_renew=True)
    pass_time(seller, hours, DAY + 100, first=LONG)
    assert (reload(instance).billing_mode, reload(instance).state) == ("hourly", "running")
    assert kinds(instance)[-2:] == ["renewal_failed", "term_over"]
    pass_time(seller, hours, 3 * 3600)
    assert reload(instance).state in ("stopping", "stopped")
    assert_all_well()


def test_a_term_over_that_nobody_can_pay_stops(bob: User, seller: FakeHost, hours: Clock) -> None:
    grant(bob, 83 * UNIT)
    instance = running(bob, seller, "reserved", term="day")
    pass_time(seller, hours, DAY + 200, first=LONG)
    assert reload(instance).state in ("stopping", "stopped")
    assert balance(bob) == 83 * UNIT - 24 * 3_420_000
    seller.settle()
    assert live_leases_of(instance.pk) == []
    assert_all_well()


def test_terms_of_a_lease_from_a_term_not_sold(rin: User, seller: FakeHost) -> None:
    with pytest.raises(InvalidInput):
        quoted(rin, seller, "reserved", term="year3")
    with pytest.raises(InvalidInput):
        quoted(rin, seller, "reserved", term="day", payment="none")
