"""Coupon money by hand: drawn before cash, soonest expiring first, back to its coupon when it was not used."""

import uuid
from datetime import timedelta

import pytest
import time_machine
from django.db import IntegrityError, transaction

from accounts.models import User
from billing.coupons.bonuses import adjust_to_kept, apply_to_top_up
from billing.coupons.codes import create_code, expire_coupons, redeem_code, set_code_active
from billing.coupons.selectors import coupon_micros, coupon_views, coupons_of
from billing.errors import (
    CouponExpired,
    CouponGone,
    CouponRedeemed,
    CouponUnknown,
    CouponWithdrawn,
    InsufficientFunds,
)
from billing.metering.escrow import prepay
from billing.metering.hold_extension import extend_holds
from billing.metering.host_fault_credits import credit_source
from billing.metering.settle import settle_meters
from billing.models import Coupon, CouponCode, CouponDraw, Order, Payment, Wallet
from billing.pricing.tariffs import Scope
from common.db.transactions import use_case
from common.errors import InvalidInput
from tests.billing.coupon_money import (
    BEGIN,
    HOURLY_4090,
    RATE,
    UNIT,
    Run,
    assert_whole,
    at,
    draws,
    make_code,
    make_percent,
    micros,
    redeem,
)
from tests.billing.money import grant

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def morning() -> object:
    with time_machine.travel(BEGIN, tick=False):
        yield


def remaining(coupon: Coupon) -> int:
    coupon.refresh_from_db()
    return coupon.remaining_micros


def test_redeeming_fills_the_coupon_and_not_the_wallet(alice: User) -> None:
    coupon = redeem(alice, 10)
    assert (micros(alice, "coupon"), micros(alice, "renter")) == (10 * UNIT, 0)
    assert (coupon.granted_micros, coupon.remaining_micros) == (10 * UNIT, 10 * UNIT)
    assert Wallet.objects.get(kind="gifts").balance_micros == -10 * UNIT
    order = Order.objects.get()
    assert (order.kind, order.source_id, order.amount_micros) == ("coupon", coupon.pk, 0)
    assert_whole()


def test_coupons_pay_before_cash_and_the_rest_goes_back(alice: User, hana: User) -> None:
    """Hold 3.60 out of a coupon of 2.00 and cash; half an hour costs 1.80: all of it coupon, 0.20 comes back."""
    grant(alice, 50 * UNIT)
    coupon = redeem(alice, 2)
    run = Run(alice, hana).start()
    assert remaining(coupon) == 0
    assert micros(alice, "renter") == 52 * UNIT
    run.stop_at(at(minutes=30))
    assert draws(run.key) == [(2 * UNIT, 1_800_000, 200_000)]
    assert remaining(coupon) == 200_000
    assert micros(alice, "renter") == 50 * UNIT
    assert_whole()


def test_a_whole_hour_uses_the_coupon_up_and_cash_pays_the_rest(alice: User, hana: User) -> None:
    grant(alice, 50 * UNIT)
    coupon = redeem(alice, 2)
    run = Run(alice, hana).start()
    run.stop_at(at(hours=1))
    assert draws(run.key) == [(2 * UNIT, 2 * UNIT, 0)]
    assert micros(alice, "renter") == 50 * UNIT - 1_600_000
    assert remaining(coupon) == 0
    assert_whole()


def test_the_soonest_to_expire_is_spent_first(alice: User, hana: User) -> None:
    forever, late, soon = redeem(alice, 5), redeem(alice, 5, valid_days=30), redeem(alice, 2, valid_days=3)
    Run(alice, hana).start()
    assert [remaining(coupon) for coupon in (soon, late, forever)] == [0, 3_400_000, 5 * UNIT]


def test_of_two_draws_the_soonest_to_expire_is_consumed_first(alice: User, hana: User) -> None:
    """2.00 of one and 1.60 of another are held; half an hour costs 1.80: the first pays it, so 0.20 and 1.60 return."""
    late, soon = redeem(alice, 5, valid_days=30), redeem(alice, 2, valid_days=3)
    Run(alice, hana).start().stop_at(at(minutes=30))
    assert (remaining(soon), remaining(late)) == (200_000, 5 * UNIT)
    assert_whole()


@pytest.mark.parametrize(
    ("options", "scope", "drawn"),
    [
        ({"modes": ["hourly"]}, HOURLY_4090, True),
        ({"modes": ["spot"]}, HOURLY_4090, False),
        ({"gpu_models": ["rtx-4090", "t4"]}, HOURLY_4090, True),
        ({"gpu_models": ["t4"]}, HOURLY_4090, False),
        ({"modes": ["hourly"], "gpu_models": ["t4"]}, HOURLY_4090, False),
        ({"modes": ["hourly"]}, Scope(), False),
        ({}, Scope(), True),
    ],
)
def test_a_coupon_pays_for_its_scope_alone(
    alice: User, hana: User, options: dict[str, list[str]], scope: Scope, drawn: bool
) -> None:
    grant(alice, 50 * UNIT)
    coupon = redeem(alice, 10, **options)
    assert coupon_micros(alice.pk, scope) == (10 * UNIT if drawn else 0)
    Run(alice, hana, scope).start()
    assert remaining(coupon) == (10 * UNIT - RATE if drawn else 10 * UNIT)


def test_a_hold_that_is_refused_draws_nothing(alice: User, hana: User) -> None:
    coupon = redeem(alice, 2)
    with pytest.raises(InsufficientFunds):
        Run(alice, hana).hold()
    assert remaining(coupon) == 2 * UNIT
    assert micros(alice, "renter") == 0
    assert_whole()


def test_renewals_draw_too_and_all_that_is_drawn_is_held(alice: User, hana: User) -> None:
    """Two hours are held, 7.20; an hour and a half costs 5.40, and 1.80 returns."""
    coupon = redeem(alice, 10)
    run = Run(alice, hana).start()
    run.prove(at(minutes=59))
    extend_holds(now=at(minutes=59))
    assert remaining(coupon) == 10 * UNIT - 2 * RATE
    assert Wallet.objects.get(owner=alice, kind="renter").spendable_micros == 0
    assert_whole()
    run.stop_at(at(minutes=90))
    assert draws(run.key) == [(7_200_000, 5_400_000, 1_800_000)]
    assert remaining(coupon) == 4_600_000
    assert micros(alice, "renter") == 0
    assert_whole()


def test_a_renewal_that_nobody_can_pay_leaves_the_coupon_alone(alice: User, hana: User) -> None:
    """1.00 is left in the coupon, an hour costs 3.60: nothing is drawn into the wallet, where it would be cash."""
    coupon = redeem(alice, 4.6)
    run = Run(alice, hana).start()
    run.prove(at(minutes=59))
    extend_holds(now=at(minutes=59))
    assert remaining(coupon) == UNIT
    wallet = Wallet.objects.get(owner=alice, kind="renter")
    assert wallet.spendable_micros == 0
    assert_whole()


def test_a_coupon_redeemed_later_pays_what_comes_later(alice: User, hana: User) -> None:
    """The first hour was charged to cash before there was a coupon; of the second 12 min, 0.72, are the coupon's."""
    grant(alice, 50 * UNIT)
    run = Run(alice, hana).start()
    run.prove(at(minutes=61))
    settle_meters(now=at(minutes=61))
    coupon = redeem(alice, 5)
    extend_holds(now=at(minutes=61))
    run.stop_at(at(minutes=72))
    assert remaining(coupon) == 5 * UNIT - 720_000
    assert micros(alice, "renter") == 50 * UNIT - 3_600_000
    assert_whole()


def test_money_that_returns_to_an_expired_coupon_is_taken_back(alice: User, hana: User) -> None:
    coupon = redeem(alice, 10, valid_days=1)
    run = Run(alice, hana).start(BEGIN)
    with time_machine.travel(at(days=2), tick=False):
        assert expire_coupons(now=at(days=2)) == 1
        assert micros(alice, "coupon") == 0
        run.prove(at(minutes=30))
        run.close()
        assert remaining(coupon) == RATE - 1_800_000
        assert expire_coupons(now=at(days=2, minutes=1)) == 1
        assert expire_coupons(now=at(days=2, minutes=2)) == 0
    assert (remaining(coupon), micros(alice, "coupon"), micros(alice, "renter")) == (0, 0, 0)
    assert Wallet.objects.get(kind="gifts").balance_micros == -1_800_000  # what its use cost is what was given in the end
    (view,) = coupon_views(coupons_of(owner_id=alice.pk), now=at(days=2))
    assert (view.state, view.used_micros, view.lost_micros) == ("expired", 1_800_000, 8_200_000)
    assert_whole()


def test_an_expired_coupon_pays_nothing_before_the_sweep_either(alice: User, hana: User) -> None:
    redeem(alice, 10, valid_days=1)
    with time_machine.travel(at(days=1), tick=False), pytest.raises(InsufficientFunds):
        Run(alice, hana).hold()


def test_a_hosts_fault_gives_coupon_money_back_to_the_coupon(alice: User, hana: User) -> None:
    """30 min cost 1.80, all of it coupon money; the credit of 1.80 is no cash."""
    grant(alice, 50 * UNIT)
    coupon = redeem(alice, 10)
    run = Run(alice, hana).start()
    run.stop_at(at(minutes=30))
    fault(run)
    assert remaining(coupon) == 10 * UNIT
    assert micros(alice, "renter") == 50 * UNIT
    assert draws(run.key) == [(RATE, 0, RATE)]
    assert_whole()


def test_of_a_fault_cash_comes_back_first(alice: User, hana: User) -> None:
    """An hour: 2.00 coupon and 1.60 cash. The whole hour is credited: 1.60 cash, 2.00 to the coupon."""
    grant(alice, 50 * UNIT)
    coupon = redeem(alice, 2)
    run = Run(alice, hana).start()
    run.stop_at(at(hours=1))
    fault(run)
    assert remaining(coupon) == 2 * UNIT
    assert micros(alice, "renter") == 50 * UNIT
    assert_whole()


def fault(run: Run) -> None:
    with use_case():
        credit_source(
            source_kind="instance",
            source_id=run.key,
            key=run.key.hex,
            since=BEGIN,
            until=at(hours=2),
            reason="host lost",
            actor="test",
        )


def test_limits_and_ends_of_codes(alice: User, bob: User) -> None:
    make_code("ONCE")
    redeem_code(owner_id=alice.pk, code="once ")
    with pytest.raises(CouponRedeemed):
        redeem_code(owner_id=alice.pk, code="ONCE")
    redeem_code(owner_id=bob.pk, code="ONCE")
    make_code("FIRST", total_limit=1)
    redeem_code(owner_id=alice.pk, code="FIRST")
    with pytest.raises(CouponGone):
        redeem_code(owner_id=bob.pk, code="FIRST")
    make_code("TWICE", per_user=2)
    assert [redeem_code(owner_id=alice.pk, code="TWICE").number for _ in range(2)] == [1, 2]
    with pytest.raises(CouponUnknown):
        redeem_code(owner_id=alice.pk, code="NOSUCH")
    make_code("OVER", expires_at=at(hours=1))
    with time_machine.travel(at(hours=1), tick=False), pytest.raises(CouponExpired):
        redeem_code(owner_id=alice.pk, code="OVER")
    set_code_active(code_id=CouponCode.objects.get(code="OVER").pk, active=False, actor="staff")
    with pytest.raises(CouponWithdrawn):
        redeem_code(owner_id=alice.pk, code="OVER")
    assert_whole()


@pytest.mark.parametrize(
    "options",
    [
        {"code": "A B", "kind": "fixed", "amount_micros": 1},
        {"code": "NOTHING", "kind": "fixed", "amount_micros": 0},
        {"code": "NOTHING", "kind": "fixed"},
        {"code": "NOTHING", "kind": "percent"},
        {"code": "TOOMUCH", "kind": "percent", "percent_bps": 10_001},
    ],
)
def test_senseless_codes_are_refused(db: None, options: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        create_code(actor="staff", **options)  # type: ignore[arg-type]


def test_codes_differ_by_more_than_case(db: None) -> None:
    make_code("Spring-26")
    with pytest.raises(InvalidInput):
        make_code("SPRING-26")


def paid(user: User, units: int) -> Payment:
    return Payment.objects.create(owner=user, amount_micros=units * UNIT)


def test_a_percent_coupon_adds_to_the_next_top_up_alone(alice: User) -> None:
    """20 % of 100.00, at most 15.00; the top-up after it gets nothing."""
    make_percent("MORE", 2_000, most_micros=15 * UNIT, valid_days=10)
    coupon = redeem_code(owner_id=alice.pk, code="MORE")
    assert (coupon.waits_for_top_up, coupon.remaining_micros) == (True, 0)
    first, second = paid(alice, 100), paid(alice, 100)
    with use_case():
        assert apply_to_top_up(owner_id=alice.pk, payment_id=first.pk, amount_micros=first.amount_micros) == 15 * UNIT
        assert apply_to_top_up(owner_id=alice.pk, payment_id=first.pk, amount_micros=first.amount_micros) == 0
        assert apply_to_top_up(owner_id=alice.pk, payment_id=second.pk, amount_micros=second.amount_micros) == 0
    assert remaining(coupon) == 15 * UNIT
    assert coupon.expires_at == BEGIN + timedelta(days=10)
    assert micros(alice, "renter") == 0
    assert_whole()


def test_a_refund_takes_its_part_of_the_bonus_back(alice: User, hana: User) -> None:
    """10 % of 100.00 is 10.00. Half is refunded: 5.00. Then all of it, but 3.60 are in use: what is left goes."""
    grant(alice, 1)
    make_percent("TEN", 1_000)
    coupon = redeem_code(owner_id=alice.pk, code="TEN")
    payment = paid(alice, 100)
    with use_case():
        apply_to_top_up(owner_id=alice.pk, payment_id=payment.pk, amount_micros=payment.amount_micros)
        assert adjust_to_kept(payment_id=payment.pk, kept_micros=50 * UNIT) == -5 * UNIT
        assert adjust_to_kept(payment_id=payment.pk, kept_micros=50 * UNIT) == 0
    Run(alice, hana).start()
    with use_case():
        assert adjust_to_kept(payment_id=payment.pk, kept_micros=0) == -1_400_000
        assert adjust_to_kept(payment_id=uuid.uuid4(), kept_micros=0) == 0
    assert remaining(coupon) == 0
    with use_case():  # the dispute is won
        assert adjust_to_kept(payment_id=payment.pk, kept_micros=100 * UNIT) == 6_400_000
    assert_whole()


def test_a_waiting_coupon_expires_too(alice: User) -> None:
    make_percent("SHORT", 1_000, valid_days=1)
    coupon = redeem_code(owner_id=alice.pk, code="SHORT")
    assert expire_coupons(now=at(days=1)) == 1
    with time_machine.travel(at(days=1), tick=False), use_case():
        assert apply_to_top_up(owner_id=alice.pk, payment_id=paid(alice, 10).pk, amount_micros=10 * UNIT) == 0
    coupon.refresh_from_db()
    assert not coupon.waits_for_top_up


def test_views_tell_states_and_history(alice: User, hana: User) -> None:
    make_percent("WAIT", 1_000)
    redeem_code(owner_id=alice.pk, code="WAIT")
    redeem(alice, 2, valid_days=2)
    run = Run(alice, hana, rate=1_000_000).start()
    run.stop_at(at(hours=1))
    views = {view.state: view for view in coupon_views(coupons_of(owner_id=alice.pk), now=at(hours=1))}
    assert set(views) == {"waiting", "ready"}
    ready = views["ready"]
    assert (ready.used_micros, ready.set_aside_micros, ready.remaining_micros) == (UNIT, 0, UNIT)
    assert ready.seconds_left == 47 * 3600
    assert ready.history[0].source_id == run.key


def test_the_database_refuses_what_the_services_never_do(alice: User) -> None:
    coupon = redeem(alice, 1)
    draw = CouponDraw.objects.create(coupon=coupon, source_kind="x", source_id=uuid.uuid4(), drawn_micros=5, used_micros=5)
    for wrong in ({"returned_micros": 1}, {"used_micros": 6}, {"returned_micros": -1}):
        with pytest.raises(IntegrityError), transaction.atomic():
            CouponDraw.objects.filter(pk=draw.pk).update(**wrong)
    for wrong in ({"remaining_micros": -1}, {"remaining_micros": UNIT + 1}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Coupon.objects.filter(pk=coupon.pk).update(**wrong)


def test_a_prepaid_term_has_spent_its_coupon_at_once(alice: User) -> None:
    """10.00 of 30.00 by a coupon, long before anything is reckoned again; in the table it is still 'drawn'."""
    grant(alice, 50 * UNIT)
    redeem(alice, 10)
    with use_case():
        prepay(renter_id=alice.pk, term_id=uuid.uuid4(), amount_micros=30 * UNIT, memo="1 month", scope=HOURLY_4090)
    (view,) = coupon_views(coupons_of(owner_id=alice.pk), now=BEGIN)
    assert (view.state, view.used_micros, view.set_aside_micros) == ("used_up", 10 * UNIT, 0)
    assert CouponDraw.objects.get().used_micros == 0


def test_what_was_charged_since_the_last_reckoning_is_shown_as_spent(alice: User, hana: User) -> None:
    """Two coupons of 2.00 and 5.20 hold two hours at 3.60; of the first hour 2.00 is the sooner's, 1.60 the other's."""
    sooner, later = redeem(alice, 2, valid_days=1), redeem(alice, 5.2)
    run = Run(alice, hana).start()
    run.prove(at(minutes=59))
    extend_holds(now=at(minutes=59))
    run.prove(at(minutes=61))
    settle_meters(now=at(minutes=61))
    views = {view.id: view for view in coupon_views(coupons_of(owner_id=alice.pk), now=at(minutes=61))}
    spent = {key: (view.used_micros, view.set_aside_micros) for key, view in views.items()}
    assert spent == {sooner.pk: (2 * UNIT, 0), later.pk: (1_600_000, 3_600_000)}
    run.stop_at(at(hours=2))
    assert_whole()
