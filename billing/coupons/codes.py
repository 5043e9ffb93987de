"""Coupon codes: creation by staff, withdrawal, redemption, and the sweep of expired credit."""

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from uuid import UUID

from django.db.models import F, Q

from billing.constants import COUPON_SOURCE, COUPON_TRIES, COUPON_TRIES_OF_NETWORK, COUPON_TRIES_WINDOW_S, GRANT_ALONE_MICROS
from billing.coupons.bonuses import change_grant
from billing.errors import (
    CouponExpired,
    CouponGone,
    CouponRedeemed,
    CouponUnknown,
    CouponWithdrawn,
    GrantRefused,
    TooManyCodes,
)
from billing.ledger.order_log import record_order
from billing.ledger.postings import lock_wallets
from billing.ledger.wallets import open_wallet
from billing.models import Coupon, CouponCode, Order, Wallet
from billing.staff_credit.selectors import granted_alone
from common import change_counters, clock
from common.db.transactions import use_case
from common.errors import wrong_field
from common.http.origin import network_of, origin
from common.money import format_money
from common.rate_counters import RequestCounter
from common.redis_client import connect

_CODE = re.compile(r"[A-Z0-9][A-Z0-9-]{2,39}")
_EXPIRE_BATCH = 500
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_MADE_CHARS, _GROUP = 12, 4


def create_code(
    *,
    code: str,
    kind: str,
    actor: str,
    amount_micros: int | None = None,
    percent_bps: int | None = None,
    most_micros: int | None = None,
    modes: Sequence[str] = (),
    gpu_models: Sequence[str] = (),
    expires_at: datetime | None = None,
    valid_days: int | None = None,
    per_user: int = 1,
    total_limit: int | None = None,
    confirmed_by: str = "",
) -> CouponCode:
    """Create a code; one is generated when none is given.

    What it gives and for what cannot be changed later, since people have redeemed what they read. The code waits
    for a second person where it can give more, together with what the actor gave away alone within
    GRANT_ALONE_WITHIN, than one person may.
    """
    text = code.strip().upper() or _generated_code()
    if not _CODE.fullmatch(text):
        raise wrong_field("code", "Use 3 to 40 letters, digits and hyphens.")
    _check_promise(kind, amount_micros, percent_bps)
    with use_case():
        # As for a grant: of two at once, each would see only what the actor had given before both.
        lock_wallets([open_wallet(owner_id=None, kind=Wallet.Kind.FUNDING).pk])
        if CouponCode.objects.filter(code__iexact=text).exists():
            raise wrong_field("code", "This code already exists.")
        made = CouponCode(
            code=text,
            kind=CouponCode.Kind(kind),
            amount_micros=amount_micros if kind == CouponCode.Kind.FIXED else None,
            percent_bps=percent_bps if kind == CouponCode.Kind.PERCENT else None,
            most_micros=most_micros if kind == CouponCode.Kind.PERCENT else None,
            modes=list(modes),
            gpu_models=list(gpu_models),
            expires_at=expires_at,
            valid_days=valid_days,
            per_user=per_user,
            total_limit=total_limit,
            created_by=actor,
            confirmed_by=confirmed_by,
        )
        made.waits = not confirmed_by and not _is_for_one(made)
        made.active = not made.waits
        made.save(force_insert=True)
    return made


def set_code_active(*, code_id: UUID, active: bool, actor: str) -> None:
    """Withdraw a code or offer it again; coupons redeemed from it stay.

    Offering a code that waits for a second person confirms it.

    Raises:
        GrantRefused: the actor is the one who created the code.
    """
    with use_case():
        code = CouponCode.objects.select_for_update(of=("self",), no_key=True).get(pk=code_id)
        if active and code.waits:
            if code.created_by == actor:
                raise GrantRefused("Another staff member has to activate this code.")
            code.waits, code.confirmed_by = False, actor
        code.active = active
        code.save(update_fields=["active", "waits", "confirmed_by"])


def _check_promise(kind: str, amount_micros: int | None, percent_bps: int | None) -> None:
    if kind == CouponCode.Kind.FIXED and not (amount_micros and amount_micros > 0):
        raise wrong_field("amount", "Enter an amount above zero.")
    if kind == CouponCode.Kind.PERCENT and not (percent_bps and 0 < percent_bps <= 10_000):  # noqa: PLR2004  all of it
        raise wrong_field("percent", "Enter a percentage above 0 and up to 100.")


def _is_for_one(code: CouponCode) -> bool:
    worth = code.worth_micros
    return worth is not None and granted_alone(code.created_by) + worth <= GRANT_ALONE_MICROS


def redeem_code(*, owner_id: UUID, code: str) -> Coupon:
    """Redeem a code for the owner: credit at once, or a bonus on the next top-up.

    Raises:
        TooManyCodes: the account, or its network, has tried too many codes that do not exist.
    """
    with _counting_attempt(owner_id), use_case():
        lock_wallets([open_wallet(owner_id=owner_id).pk])
        found = _locked_code(code)
        number = Coupon.objects.filter(code=found, owner_id=owner_id).count() + 1
        _check(found, number)
        CouponCode.objects.filter(pk=found.pk).update(redeemed=F("redeemed") + 1)
        now = clock.now()
        coupon = Coupon.objects.create(
            code=found,
            owner_id=owner_id,
            number=number,
            waits_for_top_up=found.kind == CouponCode.Kind.PERCENT,
            redeemed_at=now,
            expires_at=found.credit_ends(now),
        )
        memo = f"Coupon {found.code} redeemed"
        change_grant(coupon=coupon, by_micros=found.amount_micros or 0, key=f"coupon:redeem:{coupon.pk.hex}", memo=memo)
        record_order(
            owner_id=owner_id,
            kind=Order.Kind.COUPON,
            key=f"coupon:{coupon.pk.hex}",
            source_kind=COUPON_SOURCE,
            source_id=coupon.pk,
            title=f"{found.code}: {_promise(found)}",
        )
        change_counters.notify_change(f"user:{owner_id.hex}")
    return Coupon.objects.select_related("code").get(pk=coupon.pk)


@contextmanager
def _counting_attempt(owner_id: UUID) -> Iterator[None]:
    """Count an attempt before it is made, and uncount it on success.

    Otherwise parallel attempts would pass the limit.
    """
    at, counter = clock.now().timestamp(), try_counter()
    tries = {f"coupon:{owner_id.hex}": COUPON_TRIES}
    if network := network_of(origin().address):
        tries[f"coupon:{network}"] = COUPON_TRIES_OF_NETWORK
    used = [counter.count(who, quota=most, at=at) > most for who, most in tries.items()]
    if any(used):
        raise TooManyCodes(wait=counter.left_s(at=at))
    yield
    for who, most in tries.items():
        counter.count(who, quota=most, at=at, by=-1)


@cache
def try_counter() -> RequestCounter:
    return RequestCounter(connect(timeout_s=0.5), window_s=COUPON_TRIES_WINDOW_S)


def _generated_code() -> str:
    """Return a random code of 12 out of 32 characters (60 bits).

    The characters are not easily confused.
    """
    letters = [secrets.choice(_LETTERS) for _ in range(_MADE_CHARS)]
    return "-".join("".join(letters[start : start + _GROUP]) for start in range(0, _MADE_CHARS, _GROUP))


def expire_coupons(*, now: datetime) -> int:
    """Take back what remains in expired coupons and return how many there were. Safe to repeat."""
    over = Coupon.objects.filter(expires_at__lte=now, expired_at__isnull=True).order_by("expires_at")
    return sum(
        _expire(coupon_id, owner_id, now) for coupon_id, owner_id in over.values_list("pk", "owner_id")[:_EXPIRE_BATCH]
    )


def _expire(coupon_id: UUID, owner_id: UUID, now: datetime) -> int:
    with use_case():
        lock_wallets([open_wallet(owner_id=owner_id).pk])
        rows = Coupon.objects.filter(pk=coupon_id, expires_at__lte=now, expired_at__isnull=True)
        coupon = rows.select_related("code").first()
        if coupon is None:
            return 0
        number = coupon.granted_micros - coupon.remaining_micros
        change_grant(
            coupon=coupon,
            by_micros=-coupon.remaining_micros,
            key=f"coupon:expire:{coupon.pk.hex}:{now.isoformat()}:{number}",
            memo=f"Coupon {coupon.code}: expired",
            keep_grant=True,
        )
        Coupon.objects.filter(pk=coupon.pk).update(expired_at=now, waits_for_top_up=False)
        change_counters.notify_change(f"user:{owner_id.hex}")
    return 1


def _locked_code(text: str) -> CouponCode:
    """Return the code's row, locked: its counter enforces the total limit."""
    rows = CouponCode.objects.select_for_update(of=("self",), no_key=True)
    found = rows.filter(Q(code__iexact=text.strip())).first()
    if found is None:
        raise CouponUnknown("This coupon code doesn't exist. Check each character.")
    return found


def _check(code: CouponCode, number: int) -> None:
    if not code.active:
        raise CouponWithdrawn
    if code.expires_at is not None and code.expires_at <= clock.now():
        raise CouponExpired
    if number > code.per_user:
        raise CouponRedeemed
    if code.total_limit is not None and code.redeemed >= code.total_limit:
        raise CouponGone


def _promise(code: CouponCode) -> str:
    if code.kind == CouponCode.Kind.FIXED:
        return format_money(code.amount_micros or 0)
    return f"{(code.percent_bps or 0) / 100:g} % of the next top-up"
