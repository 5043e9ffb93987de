"""Coupon money: drawn before cash when money is held for a source, and given back when its use did not need it.

Coupon wallets are locked after the renter wallet of the same owner, so nobody ever waits for one; the market's wallet of
given coupons is locked last of all wallets.
"""

from uuid import UUID

from django.db import connection
from django.db.models import F, Q, QuerySet

from billing.coupon_rules import bonus_micros, consume
from billing.models import Coupon, CouponDraw, Entry, Posting, Wallet
from billing.policy import COUPON_SOURCE, PAYMENT_SOURCE
from billing.selectors.coupons import spendable_coupons
from billing.services.ledger import Movement, lock_wallets, post
from billing.services.wallets import open_wallet
from billing.tariffs import Scope
from common import clock

# What the wallet has paid for the source in all: charges and prepaid terms, less what was given back. Coupon money that
# only came and went is left out.
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
    """Move up to `wanted_micros` of the owner's eligible coupons into the renter wallet; how much it was.

    Inside the caller's transaction, which has locked the owner's renter wallet and raises the hold right after.
    """
    found = spendable_coupons(owner_id, scope) if wanted_micros > 0 else []
    if not found:
        return 0
    renter, purse = open_wallet(owner_id=owner_id).pk, open_wallet(owner_id=owner_id, kind=Wallet.Kind.COUPON).pk
    lock_wallets([renter])
    lock_wallets([purse])
    paid = _reckon(source_kind, source_id, renter)
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


def give_back(*, source_kind: str, source_id: UUID) -> None:
    """Return what was drawn for the source and not charged to its coupons; coupon money is consumed first.

    Inside the caller's transaction, after the last charge and after the hold was released (the money is spendable then);
    the caller has locked the renter wallet. Call it after money was given back for the source too: no more cash ever
    comes back for a source than cash was paid for it, the rest returns to its coupons. Safe to repeat.
    """
    draws = CouponDraw.objects.filter(source_kind=source_kind, source_id=source_id)
    owner_id = draws.values_list("coupon__owner_id", flat=True).first()
    if owner_id is None:
        return
    renter, purse = open_wallet(owner_id=owner_id).pk, open_wallet(owner_id=owner_id, kind=Wallet.Kind.COUPON).pk
    lock_wallets([renter])
    lock_wallets([purse])
    paid = _reckon(source_kind, source_id, renter)
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


def apply_to_top_up(*, owner_id: UUID, payment_id: UUID, amount_micros: int) -> int:
    """Give what the owner's first waiting percent coupon adds to a paid top-up; how much it was. Once for each payment.

    Inside the caller's transaction or in one of its own; it may have locked any wallets but those of coupons.
    """
    lock_wallets([open_wallet(owner_id=owner_id).pk])
    if Coupon.objects.filter(payment_id=payment_id).exists():
        return 0
    now = clock.now()
    waiting = Coupon.objects.filter(
        Q(expires_at__isnull=True) | Q(expires_at__gt=now), owner_id=owner_id, waits_for_top_up=True
    )
    order = (F("expires_at").asc(nulls_last=True), "redeemed_at", "pk")
    coupon = waiting.select_related("code").order_by(*order).first()
    if coupon is None:
        return 0
    Coupon.objects.filter(pk=coupon.pk).update(
        waits_for_top_up=False, payment_id=payment_id, expires_at=coupon.code.credit_ends(now)
    )
    amount = bonus_micros(amount_micros, coupon.code.percent_bps or 0, coupon.code.most_micros)
    change_grant(coupon=coupon, by_micros=amount, key=f"coupon:top-up:{payment_id.hex}", memo=f"Coupon {coupon.code}")
    return amount


def adjust_to_kept(*, payment_id: UUID, kept_micros: int) -> int:
    """Make a percent coupon what it would be for the part of its top-up that was not refunded or disputed.

    Takes back at most what is left in the coupon, and gives again what a won dispute brings back; the change. Safe to
    repeat with the same `kept_micros`. As with `apply_to_top_up`, wallets of coupons come last.
    """
    owner_id = Coupon.objects.filter(payment_id=payment_id).values_list("owner_id", flat=True).first()
    if owner_id is None:
        return 0
    lock_wallets([open_wallet(owner_id=owner_id).pk])
    coupon = Coupon.objects.select_related("code").get(payment_id=payment_id)
    due = bonus_micros(kept_micros, coupon.code.percent_bps or 0, coupon.code.most_micros)
    change = max(due - coupon.granted_micros, -coupon.remaining_micros)
    number = Posting.objects.filter(source_kind=PAYMENT_SOURCE, source_id=payment_id, kind=Posting.Kind.COUPON).count()
    key = f"coupon:top-up:{payment_id.hex}:{number}"
    change_grant(coupon=coupon, by_micros=change, key=key, memo=f"Coupon {coupon.code}: the top-up changed")
    return change


def change_grant(*, coupon: Coupon, by_micros: int, key: str, memo: str, keep_grant: bool = False) -> None:
    """Put money into the coupon or take it out, against the market's wallet of given coupons. The renter wallet is locked.

    `keep_grant`: what the coupon was worth stays written on it (it expired).
    """
    if by_micros == 0:
        return
    purse = open_wallet(owner_id=coupon.owner_id, kind=Wallet.Kind.COUPON).pk
    gifts = open_wallet(owner_id=None, kind=Wallet.Kind.GIFTS).pk
    lock_wallets([purse])
    granted = F("granted_micros") if keep_grant else F("granted_micros") + by_micros
    Coupon.objects.filter(pk=coupon.pk).update(remaining_micros=F("remaining_micros") + by_micros, granted_micros=granted)
    if by_micros > 0:
        Coupon.objects.filter(pk=coupon.pk).update(expired_at=None)
    post(
        key=key,
        kind=Posting.Kind.COUPON,
        source_kind=PAYMENT_SOURCE if coupon.payment_id else COUPON_SOURCE,
        source_id=coupon.payment_id or coupon.pk,
        memo=memo[:200],
        actor="coupons",
        movements=[Movement(purse, Entry.Kind.COUPON, by_micros), Movement(gifts, Entry.Kind.COUPON, -by_micros)],
        at=clock.now(),
    )


def _reckon(source_kind: str, source_id: UUID, renter: UUID) -> int:
    """Count what the source has paid since last time as used, coupons first; what it has paid in all."""
    with connection.cursor() as cursor:
        cursor.execute(_PAID, {"kind": source_kind, "source": source_id, "wallet": renter})
        paid = int(cursor.fetchone()[0])
    rows = list(_open_draws(source_kind, source_id))
    unused = [row.drawn_micros - row.used_micros - row.returned_micros for row in rows]
    for row, part in zip(rows, consume(unused, paid - rows[0].seen_micros if rows else 0), strict=True):
        CouponDraw.objects.filter(pk=row.pk).update(used_micros=F("used_micros") + part, seen_micros=paid)
    return paid


def _open_draws(source_kind: str, source_id: UUID) -> QuerySet[CouponDraw]:
    """In the order in which they are consumed: the soonest to expire first."""
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
    """Money back into its coupon; one that has expired meanwhile is left to the sweep, which takes it out."""
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
