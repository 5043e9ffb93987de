"""A payout from its opening to its end: the money leaves the earnings once, and is back exactly when it failed."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
import time_machine

from accounts.models import User
from billing.audit.selectors import ledger_findings
from billing.errors import NoPayoutAccount, NotPayable, PayoutsFrozen, PayoutUnderWay
from billing.metering.host_fault_credits import credit_source
from billing.models import Payout, PayoutAccount, Posting
from billing.payouts.accounts import freeze_payouts, unfreeze_payouts
from billing.payouts.bank_export import confirm_payout, export_batch, return_payout
from billing.payouts.payouts import start_due_payouts
from billing.payouts.selectors import bank_batch
from billing.states import PAYOUT_MACHINE
from common.db.transactions import use_case
from common.errors import IllegalTransition, InvalidInput, NotFound
from tests.billing.money import UNIT, assert_sound, execute, triggers_off
from tests.billing.payouts.world import NOW, account, ask, balance, earn, payable

pytestmark = pytest.mark.django_db

CENT = UNIT // 100


@pytest.fixture(autouse=True)
def the_clock_stands() -> Iterator[None]:
    with time_machine.travel(NOW, tick=False):
        yield


def now(payout: Payout) -> Payout:
    payout.refresh_from_db()
    return payout


def test_all_that_has_matured_goes(hana: User) -> None:
    earn(hana, 100, ago=40)
    account(hana)
    payout = ask(hana)
    assert (payout.amount_micros, payout.state, payout.method) == (90 * UNIT, "pending", "bank")
    assert payout.destination["iban"] == "DE89370400440532013000"
    assert balance(hana) == 0
    assert_sound(NOW)


def test_only_whole_cents_go(hana: User) -> None:
    earn(hana, 33.34, ago=40)
    account(hana)
    payout = ask(hana)
    assert payout.amount_micros == 30 * UNIT  # of 30.006
    assert balance(hana) == 6_000
    assert_sound(NOW)


@pytest.mark.parametrize("wanted", [0, -UNIT, CENT + 1, 91 * UNIT, UNIT - CENT])
def test_an_amount_that_cannot_be_paid(hana: User, wanted: int) -> None:
    earn(hana, 100, ago=40)
    account(hana)
    with pytest.raises((InvalidInput, NotPayable)):
        ask(hana, wanted)
    assert not Payout.objects.exists()
    assert balance(hana) == 90 * UNIT


def test_refusals(hana: User) -> None:
    earn(hana, 100, ago=40)
    with pytest.raises(NoPayoutAccount):
        ask(hana)
    where = account(hana)
    freeze_payouts(owner_id=hana.pk, reason="We ask for papers.")
    with pytest.raises(PayoutsFrozen, match="papers"):
        ask(hana)
    unfreeze_payouts(owner_id=hana.pk)
    ask(hana, 10 * UNIT)
    with pytest.raises(PayoutUnderWay):
        ask(hana, 10 * UNIT)
    assert PayoutAccount.objects.get(pk=where.pk).frozen is False
    assert_sound(NOW)


def test_what_is_not_matured_stays(hana: User) -> None:
    earn(hana, 100, ago=6.9)
    account(hana)
    with pytest.raises(NotPayable) as refusal:
        ask(hana)
    assert refusal.value.extra == {"payable": "0.00", "least": "1.00"}


def test_the_life_by_bank(hana: User, stella: User) -> None:
    earn(hana, 100, ago=40)
    account(hana)
    payout = ask(hana)
    batch = export_batch(actor="staff")
    assert [row.pk for row in bank_batch(batch)] == [payout.pk]
    assert now(payout).state == "sent"
    assert export_batch(actor="staff") == ""  # nothing is taken twice
    confirm_payout(payout_id=payout.pk, actor="staff", reference="E2E-77")
    assert (now(payout).state, payout.reference, payout.settled_by) == ("paid", "E2E-77", "staff")
    assert_sound(NOW)
    return_payout(payout_id=payout.pk, actor="staff", reason="account closed")  # the bank sent it back days later
    return_payout(payout_id=payout.pk, actor="staff", reason="account closed")
    assert (now(payout).state, payout.failure, balance(hana)) == ("failed", "account closed", 90 * UNIT)
    assert_sound(NOW)
    assert ask(hana).amount_micros == 90 * UNIT
    assert_sound(NOW)


def test_a_bank_payout_can_be_called_off(hana: User) -> None:
    earn(hana, 100, ago=40)
    account(hana)
    payout = ask(hana)
    with pytest.raises(InvalidInput):
        return_payout(payout_id=payout.pk, actor="staff", reason=" ")
    return_payout(payout_id=payout.pk, actor="staff", reason="mistyped")
    assert balance(hana) == 90 * UNIT
    with pytest.raises(IllegalTransition):
        confirm_payout(payout_id=payout.pk, actor="staff", reference="late")
    assert_sound(NOW)


def test_staff_cannot_decide_for_stripe(hana: User) -> None:
    earn(hana, 100, ago=40)
    account(hana, "stripe")
    payout = ask(hana)
    with pytest.raises(IllegalTransition):
        confirm_payout(payout_id=payout.pk, actor="staff", reference="x")
    Payout.objects.filter(pk=payout.pk).update(state="sent")
    with pytest.raises(IllegalTransition):
        return_payout(payout_id=payout.pk, actor="staff", reason="x")


def test_a_frozen_account_is_not_exported(hana: User) -> None:
    earn(hana, 100, ago=40)
    account(hana)
    payout = ask(hana)
    freeze_payouts(owner_id=hana.pk, reason="papers")
    assert export_batch(actor="staff") == ""
    unfreeze_payouts(owner_id=hana.pk)
    assert export_batch(actor="staff")
    assert now(payout).state == "sent"


def test_freezing_who_has_no_account(hana: User) -> None:
    with pytest.raises(NotFound):
        freeze_payouts(owner_id=hana.pk, reason="x")
    with pytest.raises(NotFound):
        bank_batch("")


def test_another_account_moves_no_money_that_is_under_way(hana: User) -> None:
    earn(hana, 100, ago=40)
    account(hana)
    payout = ask(hana)
    PayoutAccount.objects.update(iban="GB33BUKB20201555555555")
    batch = export_batch(actor="staff")
    assert [row.destination["iban"] for row in bank_batch(batch)] == ["DE89370400440532013000"]
    assert now(payout).ending == "3000"


def test_every_week_by_itself(hana: User, alice: User) -> None:
    earn(hana, 100, ago=40)
    account(hana)
    earn(alice, 5, ago=40)  # 4.50: below the minimum of 10
    account(alice)
    with time_machine.travel(NOW, tick=False):
        assert start_due_payouts(now=NOW) == 1
        assert start_due_payouts(now=NOW) == 0
        [payout] = Payout.objects.all()
        assert (payout.owner_id, payout.requested_by) == (hana.pk, "weekly")
        confirm_payout(payout_id=payout.pk, actor="staff", reference="x")
    earn(hana, 100, ago=35)
    soon, later = NOW + timedelta(days=6, hours=23), NOW + timedelta(days=7)
    with time_machine.travel(soon, tick=False):
        assert start_due_payouts(now=soon) == 0
    with time_machine.travel(later, tick=False):
        assert start_due_payouts(now=later) == 1
    assert_sound(later)


def test_after_one_that_failed_the_next_waits_a_day(hana: User) -> None:
    earn(hana, 100, ago=40)
    account(hana)
    with time_machine.travel(NOW, tick=False):
        start_due_payouts(now=NOW)
        return_payout(payout_id=Payout.objects.get().pk, actor="bank", reason="no such account")
    for hours, opened in ((23, 0), (24, 1)):
        later = NOW + timedelta(hours=hours)
        with time_machine.travel(later, tick=False):
            assert start_due_payouts(now=later) == opened
    assert_sound(NOW + timedelta(days=1))


def test_a_refund_after_the_payout_makes_it_negative_and_later_earnings_fill_it_first(hana: User) -> None:
    source = earn(hana, 100, ago=40)
    account(hana)
    payout = ask(hana)
    history = list(Posting.objects.filter(kind="payout").values_list("pk", "created_at"))
    with time_machine.travel(NOW, tick=False), use_case():
        end = NOW - timedelta(days=40)
        credit_source(
            source_kind="disk",
            source_id=source,
            key="x",
            since=end - timedelta(hours=1),
            until=end,
            reason="host fault",
            actor="staff",
        )
    assert balance(hana) == -90 * UNIT
    assert payable(hana).owed_micros == 90 * UNIT
    assert payable(hana).payable_micros == 0
    assert (now(payout).amount_micros, list(Posting.objects.filter(kind="payout").values_list("pk", "created_at"))) == (
        90 * UNIT,
        history,
    )
    assert_sound(NOW)
    earn(hana, 300, ago=35)  # 270.00, of which 90.00 fill the hole
    confirm_payout(payout_id=payout.pk, actor="staff", reference="x")
    assert ask(hana).amount_micros == 180 * UNIT
    assert_sound(NOW)


def test_every_move(hana: User) -> None:
    lawful = {(a, b) for a, follow in PAYOUT_MACHINE.table.items() for b in follow}
    assert lawful == {
        ("pending", "sent"),
        ("pending", "paid"),
        ("pending", "failed"),
        ("sent", "paid"),
        ("sent", "failed"),
        ("paid", "failed"),
    }


@pytest.mark.parametrize(
    "sabotage",
    [
        "UPDATE billing_payout SET amount_micros = amount_micros + 10000",
        "UPDATE billing_payout SET state = 'failed', settled_at = created_at",
        "UPDATE billing_payout SET matured_until = matured_until - interval '60 days'",
        "DELETE FROM billing_payout",
        "DELETE FROM billing_entry WHERE kind = 'payout'",
    ],
)
def test_the_audit_sees_a_breach(hana: User, sabotage: str) -> None:
    earn(hana, 100, ago=40)
    account(hana)
    ask(hana)
    assert_sound(NOW)
    with triggers_off():
        execute(sabotage)
    assert "I13" in {finding.code for finding in ledger_findings()}
