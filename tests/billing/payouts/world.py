"""Host owners with earnings of a known age, and what the tests of payouts ask of them."""

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import time_machine

from accounts.models import User
from billing.metering.holds import hold_funds
from billing.metering.meters import close_meter, open_meter
from billing.models import Payment, Payout, PayoutAccount
from billing.payments.disputes import apply_disputes
from billing.payouts.payable_balance import PayableBalance
from billing.payouts.payouts import request_payout
from billing.payouts.selectors import payable_of
from billing.pricing.tariffs import Tariff
from billing.stripe.objects import RemoteDispute
from common.db.transactions import use_case
from tests.billing.money import UNIT, grant, pay_in, wallet

NOW: Final = datetime(2026, 3, 31, 12, tzinfo=UTC)
IBAN: Final = "DE89370400440532013000"  # the example of the standard's register


def days_ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def earn(
    owner: User,
    units: float,
    *,
    ago: float,
    renter: User | None = None,
    now: datetime = NOW,
    of: tuple[str, uuid.UUID] | None = None,
    granted: bool = True,
) -> uuid.UUID:
    """So many units charged for one hour that ended so many days ago; the owner's share is nine tenths.

    `granted`: of money that the renter gets for it; else of what they have.
    """
    payer = renter or User.objects.create_user(f"r-{uuid.uuid4().hex[:10]}@example.com", "correct-horse-battery")
    micros, end = round(units * UNIT), now - timedelta(days=ago)
    kind, key = of or ("disk", uuid.uuid4())
    source = {"source_kind": kind, "source_id": key}
    with time_machine.travel(end - timedelta(hours=1), tick=False):
        if granted:
            grant(payer, micros)
        with use_case():
            hold_funds(owner_id=payer.pk, amount_micros=micros, **source)  # type: ignore[arg-type]  # both named above
            open_meter(
                **source,  # type: ignore[arg-type]  # both named above
                payer_id=payer.pk,
                payee_id=owner.pk,
                label="Data disk" if kind == "disk" else "GPUs",
                tariff=Tariff(micros),
                at=end - timedelta(hours=1),
                calendar=True,
            )
    with time_machine.travel(end, tick=False), use_case():
        close_meter(**source)  # type: ignore[arg-type]  # both named above
    return key


def top_up(renter: User, units: int, *, at: datetime) -> Payment:
    with time_machine.travel(at, tick=False):
        return pay_in(renter, units * UNIT)


def take_back(payment: Payment, *, at: datetime, state: str = "open") -> None:
    """The bank disputes all of it; `state` is what it decides."""
    remote = RemoteDispute(
        id=f"du_{payment.pk.hex}",
        status="needs_response",
        amount_micros=payment.amount_micros,
        reason="fraudulent",
        intent_id="",
        created_at=at,
    )
    with time_machine.travel(at, tick=False), use_case():
        apply_disputes(payment=payment, remotes=[remote])
        if state != "open":
            apply_disputes(payment=payment, remotes=[replace(remote, status=state)])


def disputed_after_use(renter: User, owner: User, units: int, *, state: str = "open") -> None:
    """Paid by card 50 days ago, all of it used at the owner's until 45 days ago, and taken back by the bank."""
    payment = top_up(renter, units, at=days_ago(50))
    earn(owner, units, ago=45, renter=renter, granted=False)
    take_back(payment, at=days_ago(44), state=state)


def account(owner: User, method: str = "bank", **values: object) -> PayoutAccount:
    where = (
        {"stripe_account_id": "acct_1HanaConnected"}
        if method == "stripe"
        else {"holder": "Hana Host", "iban": IBAN, "bank": ""}
    )
    return PayoutAccount.objects.create(owner=owner, method=method, **{**where, **values})


def payable(owner: User, at: datetime = NOW) -> PayableBalance:
    return payable_of(owner_id=owner.pk, now=at)


def ask(owner: User, micros: int | None = None, at: datetime = NOW) -> Payout:
    with time_machine.travel(at, tick=False):
        return request_payout(owner_id=owner.pk, requested_by="test", amount_micros=micros)


def balance(owner: User) -> int:
    return wallet(owner, "host").balance_micros
