"""After a restore no money leaves the market before Stripe and the ledger agree (faults 82, 83)."""

from datetime import timedelta
from io import StringIO
from uuid import UUID, uuid4

import pytest
import time_machine
from django.core.management import call_command
from django.core.management.base import CommandError

from accounts.models import Membership, User
from accounts.teams.services import create_team
from billing.errors import NotTransferable, PayoutsFrozen
from billing.ledger.freezes import freeze_money, money_is_frozen
from billing.models import MoneyFreeze, Refund
from billing.payments.auto_top_up import top_up_low_wallets
from billing.payments.reconcile_stripe import request_reconciliation, run_reconciliation
from billing.payments.refunds import refund_payment, send_refund
from billing.payouts.payouts import request_payout
from billing.states import RefundState
from billing.transfers.services import transfer_money
from common import clock
from tests.billing.money import UNIT
from tests.billing.payments.conftest import Market, balance
from tests.instances.fake_host import refused

pytestmark = pytest.mark.django_db


def compare() -> list[str]:
    row = run_reconciliation(reconciliation_id=request_reconciliation(actor="test").pk)
    assert row.failure == ""
    return list(row.findings)


def test_fault_083_nothing_leaves_until_the_books_agree(market: Market, alice: User, hana: User) -> None:
    payment = market.paid(alice, 100)
    freeze_money(reason="restored")
    freeze_money(reason="restored again")  # the first stands
    assert MoneyFreeze.objects.get().reason == "restored"
    with pytest.raises(PayoutsFrozen, match="restored from a backup"):
        request_payout(owner_id=hana.pk, requested_by="weekly")
    refund = refund_payment(payment_id=payment.pk, amount_micros=UNIT, reason="", actor="staff", refund_id=uuid4())
    request_count = len(market.stripe.requests)
    assert not send_refund(refund_id=refund.pk)
    assert top_up_low_wallets(now=clock.now()) == 0
    assert len(market.stripe.requests) == request_count, "Stripe was not even asked"
    market.top_up(alice, 7)
    market.stripe.pay(str(market.top_up(alice, 9).session_id))  # its message was lost: found by the comparison
    market.stripe.objects["transfers"]["tr_late"] = {
        "id": "tr_late",
        "object": "transfer",
        "created": market.stripe.now(),
        "amount": 500,
        "currency": "usd",
        "reversed": False,
        "metadata": {"berth_payout": "ab" * 16},
    }
    (finding,) = compare()
    assert finding.startswith("Stripe has transfer tr_late of 5.00 for payout abab"), "a payout of after the backup"
    assert balance(alice) == (100 - 1 + 9) * UNIT, "what was paid after the backup is credited, once"
    assert money_is_frozen()
    market.stripe.objects["transfers"]["tr_late"]["reversed"] = True
    assert compare() == []
    assert not money_is_frozen()
    assert send_refund(refund_id=refund.pk)
    assert Refund.objects.get().state == RefundState.SUCCEEDED
    compare()
    assert balance(alice) == (100 - 1 + 9) * UNIT


def late_transfer(market: Market, payout: UUID) -> None:
    """Sent after the backup that was restored, as Stripe has it."""
    market.stripe.objects["transfers"]["tr_late"] = {
        "id": "tr_late",
        "object": "transfer",
        "created": market.stripe.now(),
        "amount": 500,
        "currency": "usd",
        "reversed": False,
        "transfer_group": f"payout_{payout.hex}",
        "metadata": {"berth_payout": payout.hex},
    }


def test_a_difference_does_not_grow_old(market: Market) -> None:
    """A comparison a day later looks at a later stretch of Stripe's lists, and would find nothing to hold it back."""
    compare()
    freeze_money(reason="restored")
    late_transfer(market, uuid4())
    for days in range(4):
        with time_machine.travel(clock.now() + timedelta(days=days), tick=False):
            assert len(compare()) == 1
            assert money_is_frozen()


def test_money_is_not_passed_on_either(market: Market, alice: User, bob: User) -> None:
    """What went back to a card after the backup lies in the wallet again until Stripe has been asked."""
    team = create_team(user=alice, name="Lab")
    Membership.objects.create(team=team, user=bob, email=bob.email, joined_at=clock.now())
    market.paid(alice, 100)
    freeze_money(reason="restored")
    with pytest.raises(NotTransferable, match="restored from a backup"), refused():
        transfer_money(sender=alice, team_id=team.pk, to_id=bob.pk, amount_micros=UNIT)
    assert compare() == []
    transfer_money(sender=alice, team_id=team.pk, to_id=bob.pk, amount_micros=UNIT)


def test_a_person_may_lift_it_and_has_to_say_why() -> None:
    freeze_money(reason="restored")
    with pytest.raises(CommandError, match="Enter who"):
        call_command("lift_money_freeze", "--reason", " ")
    out = StringIO()
    call_command("lift_money_freeze", "--reason", "ann compared with the bank", stdout=out)
    assert MoneyFreeze.objects.get().lifted_by == "command: ann compared with the bank"
    with pytest.raises(CommandError, match="There is no freeze"):
        call_command("lift_money_freeze", "--reason", "again")
