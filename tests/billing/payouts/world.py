"""Host owners with earnings of a known age, and what the tests of payouts ask of them."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Final

import time_machine

from accounts.models import User
from billing.models import Payout, PayoutAccount
from billing.payable import Payable
from billing.selectors.payouts import payable_of
from billing.services.holds import hold_funds
from billing.services.meters import close_meter, open_meter
from billing.services.payouts import request_payout
from billing.tariffs import Tariff
from common.database import use_case
from tests.billing.money import UNIT, grant, wallet

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
) -> uuid.UUID:
    """So many units charged for one hour that ended so many days ago; the owner's share is nine tenths."""
    payer = renter or User.objects.create_user(f"r-{uuid.uuid4().hex[:10]}@example.com", "correct-horse-battery")
    micros, end = round(units * UNIT), now - timedelta(days=ago)
    kind, key = of or ("disk", uuid.uuid4())
    source = {"source_kind": kind, "source_id": key}
    with time_machine.travel(end - timedelta(hours=1), tick=False):
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


def account(owner: User, method: str = "bank", **values: object) -> PayoutAccount:
    where = (
        {"stripe_account_id": "acct_1HanaConnected"}
        if method == "stripe"
        else {"holder": "Hana Host", "iban": IBAN, "bank": ""}
    )
    return PayoutAccount.objects.create(owner=owner, method=method, **where, **values)


def payable(owner: User, at: datetime = NOW) -> Payable:
    return payable_of(owner_id=owner.pk, now=at)


def ask(owner: User, micros: int | None = None, at: datetime = NOW) -> Payout:
    with time_machine.travel(at, tick=False):
        return request_payout(owner_id=owner.pk, requested_by="test", amount_micros=micros)


def balance(owner: User) -> int:
    return wallet(owner, "host").balance_micros
