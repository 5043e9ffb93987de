"""Drives coupons through the services as renters, staff and instances would, and checks what must always hold."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import time_machine
from django.db.models import Sum

from accounts.models import User
from billing.audit.selectors import ledger_findings
from billing.coupons.codes import create_code, redeem_code
from billing.metering.holds import hold_funds
from billing.metering.meters import close_meter, open_meter, prove_meters
from billing.models import Coupon, CouponDraw, Usage, Wallet
from billing.pricing.tariffs import Scope, Tariff
from common.db.transactions import use_case

UNIT = 1_000_000
BEGIN = datetime(2026, 10, 5, 8, 0, tzinfo=UTC)
RATE = 3_600_000  # 3.60 an hour: 1,000 micro-units a second
HOURLY_4090 = Scope("hourly", "rtx-4090")


def at(**offset: float) -> datetime:
    return BEGIN + timedelta(**offset)


def make_code(code: str, units: float = 10, **options: Any) -> str:
    fixed = {"kind": "fixed", "amount_micros": int(units * UNIT)}
    create_code(code=code, actor="staff", **{**fixed, "confirmed_by": "second", **options})
    return code


def make_percent(code: str, bps: int, **options: Any) -> str:
    create_code(code=code, kind="percent", percent_bps=bps, actor="staff", confirmed_by="second", **options)
    return code


def redeem(user: User, units: float = 10, **options: Any) -> Coupon:
    return redeem_code(owner_id=user.pk, code=make_code(f"C-{uuid.uuid4().hex[:10]}", units, **options))


def micros(user: User, kind: str) -> int:
    return int(Wallet.objects.filter(owner=user, kind=kind).aggregate(total=Sum("balance_micros"))["total"] or 0)


class Run:
    """One instance: held for, metered, stopped."""

    def __init__(self, payer: User, payee: User, scope: Scope = HOURLY_4090, rate: int = RATE) -> None:
        self.payer, self.payee, self.scope, self.rate = payer, payee, scope, rate
        self.key = uuid.uuid4()
        self.seen = BEGIN

    def hold(self, amount: int | None = None) -> None:
        with use_case():
            hold_funds(
                owner_id=self.payer.pk,
                amount_micros=self.rate if amount is None else amount,
                source_kind="instance",
                source_id=self.key,
                scope=self.scope,
            )

    def start(self, moment: datetime = BEGIN) -> "Run":
        self.hold()
        self.open(moment)
        return self

    def open(self, moment: datetime) -> None:
        self.seen = moment
        with use_case():
            open_meter(
                source_kind="instance",
                source_id=self.key,
                payer_id=self.payer.pk,
                payee_id=self.payee.pk,
                label="1 × RTX 4090",
                tariff=Tariff(self.rate),
                at=moment,
            )

    def prove(self, until: datetime) -> None:
        while self.seen < until:
            self.seen = min(until, self.seen + timedelta(seconds=100))
            with use_case():
                prove_meters(source_kind="instance", source_ids=[self.key], at=self.seen)

    def close(self) -> None:
        with use_case():
            close_meter(source_kind="instance", source_id=self.key)

    def stop_at(self, moment: datetime) -> None:
        self.prove(moment)
        with time_machine.travel(moment, tick=False):
            self.close()


def draws(source: UUID) -> list[tuple[int, int, int]]:
    """Drawn, used and returned of the source's draws."""
    rows = CouponDraw.objects.filter(source_id=source).order_by("opened_at", "pk")
    return list(rows.values_list("drawn_micros", "used_micros", "returned_micros"))


def assert_whole(moment: datetime | None = None) -> None:
    """No micro-unit is made or lost: each coupon's parts are its grant, and the coupon wallets hold what remains."""
    for owner in User.objects.filter(coupons__isnull=False).distinct():
        mine = Coupon.objects.filter(owner=owner)
        remaining = mine.aggregate(total=Sum("remaining_micros"))["total"]
        assert micros(owner, "coupon") == remaining
        aside = _set_aside(owner)
        held = Wallet.objects.get(owner=owner, kind="renter").held_micros
        assert aside <= held, "drawn coupon money lies in the wallet as cash"
    with time_machine.travel(moment or at(days=400), tick=False):
        assert [str(finding) for finding in ledger_findings()] == []


def _set_aside(owner: User) -> int:
    """An upper bound: use that was charged since the last reckoning is still in it, and in the hold it is not."""
    total = 0
    for draw in CouponDraw.objects.filter(coupon__owner=owner, closed_at=None):
        total += draw.drawn_micros - draw.used_micros - draw.returned_micros - _charged_since(draw)
    return max(0, total)


def _charged_since(draw: CouponDraw) -> int:
    paid = Usage.objects.filter(meter__source_id=draw.source_id).aggregate(total=Sum("charge_micros"))["total"] or 0
    return int(paid) - draw.seen_micros
