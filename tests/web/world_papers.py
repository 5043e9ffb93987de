"""A renter's coupons, orders and invoices for pictures: a month with use, a correction, coupons in every state."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import time_machine

from accounts.models import User
from billing.coupons.bonuses import apply_to_top_up
from billing.coupons.codes import create_code, expire_coupons, redeem_code
from billing.invoices.invoices import correct_invoice, issue_invoices, set_address
from billing.ledger.order_log import record_order
from billing.metering.hold_extension import extend_holds
from billing.models import Invoice, Payment
from common import clock
from common.db.transactions import use_case
from common.ids import public_id
from tests.billing.coupon_money import HOURLY_4090, UNIT, Run
from tests.web.world import World


def paper_pages(world: World) -> dict[str, tuple[str, str]]:
    """Name → (who, path); makes what they show."""
    invoice, note = add_papers(world.alice, world.hana)
    return {
        "coupons": ("alice", "/wallet/coupons"),
        "coupons-empty": ("hana", "/wallet/coupons"),
        "orders": ("alice", "/wallet/orders"),
        "invoices": ("alice", "/wallet/invoices"),
        "invoices-empty": ("hana", "/wallet/invoices"),
        "invoice": ("alice", f"/wallet/invoices/{public_id('invc', invoice.pk)}"),
        "credit-note": ("alice", f"/wallet/invoices/{public_id('invc', note.pk)}"),
        "billing-address": ("alice", "/wallet/billing-address"),
        "statement-days": ("alice", "/wallet/statement?group=day&by_source=on"),
        "statement-months": ("alice", "/wallet/statement?group=month"),
        "statement-none": ("alice", "/wallet/statement?kind=dispute"),
        "staff-codes": ("stella", "/admin/billing/couponcode/"),
        "staff-code-new": ("stella", "/admin/billing/couponcode/add/"),
        "staff-invoice": ("stella", f"/admin/billing/invoice/{invoice.pk}/change/"),
    }


def add_papers(renter: User, host_owner: User) -> tuple[Invoice, Invoice]:
    now = clock.now()
    last_month = now.replace(day=1, hour=0, minute=0, second=0) - timedelta(days=20)
    with time_machine.travel(last_month, tick=False):
        _codes()
        for code in ("WELCOME-25", "SPRING-5"):
            redeem_code(owner_id=renter.pk, code=code)
    for day, minutes in ((0, 150), (3, 59), (9, 240)):
        _use(renter, host_owner, last_month + timedelta(days=day), minutes)
    expire_coupons(now=now)
    issue_invoices(now=now)
    invoice = Invoice.objects.get(owner=renter)
    set_address(
        owner_id=renter.pk,
        name="深圳市云算科技有限公司",
        address="南山区科技园 88 号\nShenzhen",
        country="CN",
        tax_id="91440300MA5FXXXX1Y",
    )
    note, anew = correct_invoice(invoice_id=invoice.pk, reason="The buyer's name was wrong", actor="staff", reissue=True)
    for code in ("MODEL-7", "MORE-20", "BONUS-10"):
        redeem_code(owner_id=renter.pk, code=code)
    payment = Payment.objects.create(owner=renter, amount_micros=60 * UNIT)
    with use_case():
        apply_to_top_up(owner_id=renter.pk, payment_id=payment.pk, amount_micros=payment.amount_micros)
    _orders(renter, payment.pk)
    return anew, note


def _codes() -> None:
    gives: dict[str, Any] = {"kind": "fixed", "actor": "staff", "total_limit": 10}
    create_code(code="WELCOME-25", amount_micros=25 * UNIT, **gives)
    create_code(code="SPRING-5", amount_micros=5 * UNIT, modes=["spot"], valid_days=14, **gives)
    create_code(
        code="MODEL-7", amount_micros=7 * UNIT, modes=["hourly", "tiered"], gpu_models=["rtx-4090"], valid_days=2, **gives
    )
    for code, bps in (("MORE-20", 2_000), ("BONUS-10", 1_000)):
        percent = {**gives, "kind": "percent", "percent_bps": bps, "most_micros": 15 * UNIT}
        create_code(code=code, valid_days=30, **percent)


def _use(renter: User, host_owner: User, begin: datetime, minutes: int) -> None:
    with time_machine.travel(begin, tick=False):
        run = Run(renter, host_owner, HOURLY_4090).start(begin)
    for hour in range(1, minutes // 60 + 1):
        moment = begin + timedelta(minutes=60 * hour - 1)
        run.prove(moment)
        with time_machine.travel(moment, tick=False):
            extend_holds(now=moment)
    run.stop_at(begin + timedelta(minutes=minutes))


def _orders(renter: User, payment_id: UUID) -> None:
    text = (
        ("rent", "instance", "2 × RTX 4090 on lab-03", "hourly", 0, 920_000),
        ("term", "instance", "1 × H100 on hpc-a1 for 1 month", "reserved", 993 * UNIT + 600_000, 1_380_000),
        ("early_end", "instance", "1 × H100 on hpc-a1: ended early", "reserved", -412 * UNIT, None),
    )
    for number, (kind, source, title, mode, amount, rate) in enumerate(text):
        record_order(
            owner_id=renter.pk,
            kind=kind,
            key=f"picture:{number}",
            source_kind=source,
            source_id=uuid4(),
            title=title,
            billing_mode=mode,
            amount_micros=amount,
            rate_micros_per_hour=rate,
        )
    record_order(
        owner_id=renter.pk,
        kind="top_up",
        key="picture:top-up",
        source_kind="payment",
        source_id=payment_id,
        title="Top-up by card",
        amount_micros=60 * UNIT,
    )
