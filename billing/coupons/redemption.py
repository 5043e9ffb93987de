"""Coupon money: drawn before cash for a hold, and returned when its use did not need it.

Coupon wallets are locked after the renter wallet of the same owner, so nobody ever waits for one. The market's wallet
of given coupons is locked last of all wallets.
"""

from uuid import UUID

from django.db import connection
from django.db.models import F, QuerySet

from billing.coupons.bonuses import adjust_to_kept
from billing.coupons.rules import consume
from billing.coupons.selectors import kept_micros, spendable_coupons
from billing.ledger.postings import Movement, lock_wallets, post
from billing.ledger.wallets import open_wallet
from billing.models import Coupon, CouponDraw, Entry, Payment, Posting, Wallet
from billing.pricing.tariffs import Scope
from common import clock

# What the wallet has paid for the source in all: charges and prepaid terms, less refunds. Coupon money that was drawn
# and returned is left out.
_PAID = """
SELECT COALESCE((SELECT sum(usage.charge_micros)
                 FROM billing_meter meter JOIN billing_usage usage ON usage.meter_id = meter.id
                 WHERE meter.source_kind = %(kind)s AND meter.source_id = %(source)s AND meter.payer_id = %(wallet)s), 0)
     - COALESCE((SELECT sum(entry.amount_micros)
                 FROM billing_posting posting JOIN billing_entry entry ON entry.posting_id = posting.id
                 WHERE posting.source_kind = %(kind)s AND posting.source_id = %(source)s AND posting.kind <> 'usage'
                   AND entry.wallet_id = %(wallet)s AND entry.kind <> 'coupon'), 0)
"""


def draw(*, owner_id: UUID, source_kind: str, source_id: UUID, wanted_micros: int, scope: Scope) -> int:
    """Move up to `wanted_micros` of the owner's eligible coupons into the renter wallet.

    Returns the amount moved. Runs inside the caller's transaction, which has locked the owner's renter wallet and
    raises the hold right after.
    """
    found = spendable_coupons(owner_id, scope) if wanted_micros > 0 else []
    if not found:
        return 0
    renter, purse = open_wallet(owner_id=owner_id).pk, open_wallet(owner_id=owner_id, kind=Wallet.Kind.COUPON).pk
    lock_wallets([renter])
    lock_wallets([purse])
    paid = _record_use(source_kind, source_id, renter)
    left = wanted_micros
    for coupon_id, remaining, code in spendable_coupons(owner_id, scope):
        amount = min(left, remaining)
        if amount > 0:
            row = _open_draw(coupon_id, source_kind, source_id, paid)
            CouponDraw.objects.filter(pk=row.pk).update(drawn_micros=F("drawn_micros") + amount)
            Coupon.objects.filter(pk=coupon_id).update(remaining_micros=F("remaining_micros") - amount)
            key = f"coupon:draw:{row.pk.hex}:{row.drawn_micros + amount}"
            _move(row, key, f"Coupon {code}", frm=purse, to=renter, amount=amount)
        left -= amount
    return wanted_micros - left


def return_unused_draws(*, source_kind: str, source_id: UUID) -> None:
    """Return to its coupons what was drawn for the source and not charged; coupons pay before cash.

    Runs inside the caller's transaction, after the last charge and after the hold was released, so that the money
    is spendable; the caller has locked the renter wallet. Where the source got a refund, call it after that: no
    more cash is ever returned for a source than cash was paid for it, and the rest returns to its coupons. Money
    that returns to a bonus that is no longer due is passed on from there (`adjust_to_kept`). Safe to repeat.
    """
    draws = CouponDraw.objects.filter(source_kind=source_kind, source_id=source_id)
    owner_id = draws.values_list("coupon__owner_id", flat=True).first()
    if owner_id is None:
        return
    renter, purse = open_wallet(owner_id=owner_id).pk, open_wallet(owner_id=owner_id, kind=Wallet.Kind.COUPON).pk
    lock_wallets([renter])
    lock_wallets([purse])
    paid = _record_use(source_kind, source_id, renter)
    rows = list(draws.select_related("coupon__code").order_by("-opened_at", "-pk"))
    for row in rows:
        if row.closed_at is None:
            _return(row, row.drawn_micros - row.used_micros - row.returned_micros, renter, purse)
    draws.filter(closed_at__isnull=True).update(closed_at=clock.now())
    too_much = sum(row.used_micros for row in rows) - paid
    for row in rows:
        amount = max(0, min(too_much, row.used_micros))
        CouponDraw.objects.filter(pk=row.pk).update(used_micros=F("used_micros") - amount)
        _return(row, amount, renter, purse)
        too_much -= amount
    for payment in Payment.objects.filter(coupons__in={row.coupon_id for row in rows}):
        adjust_to_kept(payment_id=payment.pk, kept_micros=kept_micros(payment))


def _record_use(source_kind: str, source_id: UUID, renter: UUID) -> int:
    """Record new payments of the source as used, coupons first; return what it has paid in all."""
    with connection.cursor() as cursor:
        cursor.execute(_PAID, {"kind": source_kind, "source": source_id, "wallet": renter})
        paid = int(cursor.fetchone()[0])
    rows = list(_open_draws(source_kind, source_id))
    unused = [row.drawn_micros - row.used_micros - row.returned_micros for row in rows]
    for row, part in zip(rows, consume(unused, paid - rows[0].seen_micros if rows else 0), strict=True):
        CouponDraw.objects.filter(pk=row.pk).update(used_micros=F("used_micros") + part, seen_micros=paid)
    return paid


def _open_draws(source_kind: str, source_id: UUID) -> QuerySet[CouponDraw]:
    """Return the source's open draws in the order in which they are consumed: the soonest to expire first."""
    order = (F("coupon__expires_at").asc(nulls_last=True), "coupon__redeemed_at", "coupon_id")
    rows = CouponDraw.objects.filter(source_kind=source_kind, source_id=source_id, closed_at__isnull=True)
    return rows.select_related("coupon__code").order_by(*order)


def _open_draw(coupon_id: UUID, source_kind: str, source_id: UUID, paid: int) -> CouponDraw:
    row, _made = CouponDraw.objects.get_or_create(
        coupon_id=coupon_id,
        source_kind=source_kind,
        source_id=source_id,
        closed_at=None,
        defaults={"seen_micros": paid, "opened_at": clock.now()},
    )
    return row


def _return(row: CouponDraw, amount: int, renter: UUID, purse: UUID) -> None:
    """Move money back into its coupon; a coupon that has expired meanwhile is emptied by the sweep."""
    if amount <= 0:
        return
    CouponDraw.objects.filter(pk=row.pk).update(returned_micros=F("returned_micros") + amount)
    Coupon.objects.filter(pk=row.coupon_id).update(remaining_micros=F("remaining_micros") + amount, expired_at=None)
    row.returned_micros += amount
    key = f"coupon:return:{row.pk.hex}:{row.returned_micros}"
    _move(row, key, f"Coupon {row.coupon.code}: not used", frm=renter, to=purse, amount=amount)


def _move(row: CouponDraw, key: str, memo: str, *, frm: UUID, to: UUID, amount: int) -> None:
    post(
        key=key,
        kind=Posting.Kind.COUPON,
        source_kind=row.source_kind,
        source_id=row.source_id,
        memo=memo,
        actor="coupons",
        movements=[Movement(frm, Entry.Kind.COUPON, -amount), Movement(to, Entry.Kind.COUPON, amount)],
        at=clock.now(),
    )
