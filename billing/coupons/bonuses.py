"""Bonuses of percent coupons for top-ups, and their correction after refunds and disputes.

The bonus never exceeds what the kept part of the top-up gives. The rest in the coupon is taken back first. What was
spent beyond that, or is held, is paid with the wallet's own cash, and becomes debt as far as there is none.
"""

from uuid import UUID

from django.db.models import F, Q

from billing.constants import COUPON_SOURCE, PAYMENT_SOURCE
from billing.coupons.rules import bonus_micros
from billing.coupons.selectors import bonus_of
from billing.ledger.grants import lock_cash_wallets, movements_in, movements_out
from billing.ledger.postings import Movement, lock_wallets, post
from billing.ledger.wallets import open_wallet
from billing.models import Coupon, Entry, Posting, Wallet
from common import clock

_ACTOR = "coupons"


def apply_to_top_up(*, owner_id: UUID, payment_id: UUID, amount_micros: int) -> int:
    """Give the bonus of the owner's first waiting percent coupon for a paid top-up, and return its amount.

    Applies once per payment. Runs inside the caller's transaction or in one of its own; the caller may have
    locked any wallets except coupon wallets.
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
    """Adjust a percent coupon to the part of its top-up that was not refunded or disputed.

    Takes back the rest in the coupon first, then cash for what was used, and gives both again when more of the
    top-up is kept after all. Returns the change of the coupon. Safe to repeat with the same `kept_micros`. As
    with `apply_to_top_up`, coupon wallets are locked last.
    """
    owner_id = Coupon.objects.filter(payment_id=payment_id).values_list("owner_id", flat=True).first()
    if owner_id is None:
        return 0
    lock_wallets([open_wallet(owner_id=owner_id).pk, open_wallet(owner_id=owner_id, kind=Wallet.Kind.COUPON).pk])
    coupon = Coupon.objects.select_related("code").get(payment_id=payment_id)
    bonus = bonus_of(coupon)
    change = bonus.change(kept_micros)
    _repay(coupon, payment_id, bonus.to_repay(kept_micros))
    key = f"coupon:top-up:{payment_id.hex}:{_posted(payment_id)}"
    change_grant(coupon=coupon, by_micros=change, key=key, memo=f"Coupon {coupon.code}: the top-up changed")
    return change


def _repay(coupon: Coupon, payment_id: UUID, amount_micros: int) -> None:
    """Move cash from the owner to the market's cost of coupons; what is missing is owed.

    A negative amount is given back.
    """
    if amount_micros == 0:
        return
    purse = lock_cash_wallets(owner_id=coupon.owner_id, outside=Wallet.Kind.GIFTS)
    if amount_micros > 0:
        movements = movements_out(purse, amount_micros, Entry.Kind.BONUS)
        memo = f"Coupon {coupon.code}: used, and its top-up went back"
    else:
        movements = movements_in(purse, -amount_micros, Entry.Kind.BONUS)
        memo = f"Coupon {coupon.code}: not to be paid for any more"
    Coupon.objects.filter(pk=coupon.pk).update(repaid_micros=F("repaid_micros") + amount_micros)
    post(
        key=f"coupon:bonus:{payment_id.hex}:{_posted(payment_id)}",
        kind=Posting.Kind.COUPON,
        source_kind=PAYMENT_SOURCE,
        source_id=payment_id,
        memo=memo,
        actor=_ACTOR,
        movements=movements,
        at=clock.now(),
    )


def _posted(payment_id: UUID) -> int:
    return Posting.objects.filter(source_kind=PAYMENT_SOURCE, source_id=payment_id, kind=Posting.Kind.COUPON).count()


def change_grant(*, coupon: Coupon, by_micros: int, key: str, memo: str, keep_grant: bool = False) -> None:
    """Add money to the coupon or remove it, against the market's wallet of given coupons.

    The caller has locked the renter wallet. With `keep_grant`, the amount once granted stays recorded on the
    coupon (used on expiry).
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
        actor=_ACTOR,
        movements=[Movement(purse, Entry.Kind.COUPON, by_micros), Movement(gifts, Entry.Kind.COUPON, -by_micros)],
        at=clock.now(),
    )
