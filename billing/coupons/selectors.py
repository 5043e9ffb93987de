"""Reads of coupons and bonuses: what they would pay for, what remains, and where the money went."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from uuid import UUID

from django.db.models import F, Prefetch, QuerySet, Sum

from billing.coupons.rules import Bonus, consume
from billing.ledger.raw_rows import planned_rows, rows
from billing.models import Coupon, CouponDraw, Payment, Wallet
from billing.pricing.tariffs import Scope
from billing.states import DisputeState
from common import clock

# The soonest to expire is spent first, of those the first redeemed.
_TO_SPEND = """
SELECT coupon.id, coupon.remaining_micros, code.code
FROM billing_coupon coupon JOIN billing_couponcode code ON code.id = coupon.code_id
WHERE coupon.owner_id = %(owner)s AND coupon.remaining_micros > 0
  AND (coupon.expires_at IS NULL OR coupon.expires_at > %(now)s)
  AND (cardinality(code.modes) = 0 OR %(mode)s = ANY(code.modes))
  AND (cardinality(code.gpu_models) = 0 OR %(gpu_model)s = ANY(code.gpu_models))
ORDER BY coupon.expires_at NULLS LAST, coupon.redeemed_at, coupon.id
"""

# What the source of each open draw has paid since it was last reckoned: coupons consume it in this order.
_SINCE_RECKONED = """
SELECT draw.source_kind, draw.source_id, draw.id, draw.drawn_micros - draw.used_micros - draw.returned_micros,
       COALESCE((SELECT sum(usage.charge_micros)
                 FROM billing_meter meter JOIN billing_usage usage ON usage.meter_id = meter.id
                 WHERE meter.source_kind = draw.source_kind AND meter.source_id = draw.source_id
                   AND meter.payer_id = wallet.id), 0)
     - COALESCE((SELECT sum(entry.amount_micros)
                 FROM billing_posting posting JOIN billing_entry entry ON entry.posting_id = posting.id
                 WHERE posting.source_kind = draw.source_kind AND posting.source_id = draw.source_id
                   AND posting.kind <> 'usage' AND entry.wallet_id = wallet.id AND entry.kind <> 'coupon'), 0)
     - draw.seen_micros
FROM billing_coupondraw draw JOIN billing_coupon coupon ON coupon.id = draw.coupon_id
JOIN billing_wallet wallet ON wallet.owner_id = coupon.owner_id AND wallet.kind = 'renter'
WHERE coupon.owner_id = ANY(%(owners)s) AND draw.closed_at IS NULL
ORDER BY draw.source_kind, draw.source_id, coupon.expires_at NULLS LAST, coupon.redeemed_at, coupon.id
"""


@dataclass(frozen=True)
class SourceDraw:
    """What one source took from a coupon: used, held for it, and returned."""

    source_kind: str
    source_id: UUID
    opened_at: datetime
    closed_at: datetime | None
    drawn_micros: int
    used_micros: int
    returned_micros: int

    @property
    def set_aside_micros(self) -> int:
        return self.drawn_micros - self.used_micros - self.returned_micros


@dataclass(frozen=True)
class CouponView:
    """A coupon as its owner sees it; `state` is waiting for a top-up, ready, used up, or expired."""

    id: UUID
    code: str
    kind: str
    percent_bps: int
    most_micros: int | None
    modes: tuple[str, ...]
    gpu_models: tuple[str, ...]
    state: str
    granted_micros: int
    remaining_micros: int
    redeemed_at: datetime
    expires_at: datetime | None
    seconds_left: int | None
    history: tuple[SourceDraw, ...]

    @property
    def used_micros(self) -> int:
        return sum(stretch.used_micros for stretch in self.history)

    @property
    def set_aside_micros(self) -> int:
        return sum(stretch.set_aside_micros for stretch in self.history)

    @property
    def lost_micros(self) -> int:
        """Return what expired or was taken back unused."""
        return self.granted_micros - self.remaining_micros - self.used_micros - self.set_aside_micros


def spendable_coupons(owner_id: UUID, scope: Scope) -> list[tuple[UUID, int, str]]:
    """Return id, remaining amount and code of each coupon valid for this scope, in the order of spending."""
    return planned_rows(_TO_SPEND, owner=owner_id, now=clock.now(), mode=scope.mode, gpu_model=scope.gpu_model)


def coupon_micros(owner_id: UUID, scope: Scope) -> int:
    """Return what the owner's coupons would pay for use of this scope now."""
    return sum(remaining for _coupon, remaining, _code in spendable_coupons(owner_id, scope))


def coupon_balance(*, owner_id: UUID) -> int:
    """Return what remains in all the owner's coupons, whatever they may pay for."""
    wallet = Wallet.objects.filter(owner_id=owner_id, kind=Wallet.Kind.COUPON).only("balance_micros").first()
    return wallet.balance_micros if wallet else 0


def coupons_of(*, owner_id: UUID) -> QuerySet[Coupon]:
    """Return the owner's coupons with codes and draws, the soonest to expire first."""
    draws = Prefetch("draws", CouponDraw.objects.order_by("-opened_at", "-pk"))
    order = (F("expired_at").asc(nulls_first=True), F("expires_at").asc(nulls_last=True), "redeemed_at", "pk")
    return Coupon.objects.filter(owner_id=owner_id).select_related("code").prefetch_related(draws).order_by(*order)


def coupon_views(coupons: Iterable[Coupon], *, now: datetime) -> list[CouponView]:
    """Return views of coupons, live ones first, in the order of spending.

    What a source has paid counts as spent at once, even where `_reckon` has not recorded it yet.
    """
    found = list(coupons)
    consumed = _consumed_since({coupon.owner_id for coupon in found})
    views = [_view(coupon, now, consumed) for coupon in found]
    return sorted(views, key=lambda view: view.state in ("used_up", "expired"))


def _consumed_since(owners: Collection[UUID]) -> dict[UUID, int]:
    """Return for each draw what its source has paid out of it since its use was last recorded."""
    found = rows(_SINCE_RECKONED, owners=list(owners)) if owners else []
    consumed: dict[UUID, int] = {}
    for _source, group in groupby(found, key=itemgetter(0, 1)):
        draws = list(group)
        parts = consume([int(unused) for *_rest, unused, _paid in draws], int(draws[0][4]))
        consumed |= {draw[2]: part for draw, part in zip(draws, parts, strict=True)}
    return consumed


def _view(coupon: Coupon, now: datetime, consumed: Mapping[UUID, int]) -> CouponView:
    code = coupon.code
    left = None if coupon.expires_at is None else max(0, int((coupon.expires_at - now).total_seconds()))
    history = _history(list(coupon.draws.all()), consumed)
    return CouponView(
        id=coupon.pk,
        code=code.code,
        kind=code.kind,
        percent_bps=code.percent_bps or 0,
        most_micros=code.most_micros,
        modes=tuple(code.modes),
        gpu_models=tuple(code.gpu_models),
        state=_state(coupon, left, history),
        granted_micros=coupon.granted_micros,
        remaining_micros=coupon.remaining_micros,
        redeemed_at=coupon.redeemed_at,
        expires_at=coupon.expires_at,
        seconds_left=left,
        history=history,
    )


def _state(coupon: Coupon, seconds_left: int | None, history: Sequence[SourceDraw]) -> str:
    if coupon.expired_at is not None or seconds_left == 0:
        return "expired"
    if coupon.waits_for_top_up:
        return "waiting"
    ready = coupon.remaining_micros > 0 or any(stretch.set_aside_micros for stretch in history)
    return "ready" if ready else "used_up"


def _history(draws: Sequence[CouponDraw], consumed: Mapping[UUID, int]) -> tuple[SourceDraw, ...]:
    return tuple(
        SourceDraw(
            source_kind=draw.source_kind,
            source_id=draw.source_id,
            opened_at=draw.opened_at,
            closed_at=draw.closed_at,
            drawn_micros=draw.drawn_micros,
            used_micros=draw.used_micros + consumed.get(draw.pk, 0),
            returned_micros=draw.returned_micros,
        )
        for draw in draws
    )


def bonus_of(coupon: Coupon) -> Bonus:
    """Return the bonus of a coupon.

    Its `out` is what was drawn and not returned: spent, or held for what runs.
    """
    return Bonus(
        percent_bps=coupon.code.percent_bps or 0,
        most_micros=coupon.code.most_micros,
        granted=coupon.granted_micros,
        remaining=coupon.remaining_micros,
        out=sum(draw.drawn_micros - draw.returned_micros for draw in coupon.draws.all()),
        repaid=coupon.repaid_micros,
        waived=coupon.waived_micros,
    )


def bonus_for(payment: Payment) -> Bonus | None:
    """Return the bonus of a top-up, or None for a top-up without a coupon."""
    coupon = next(iter(payment.coupons.all()), None)
    return None if coupon is None else bonus_of(coupon)


def repaid_micros(payment_id: UUID) -> int:
    """Return what the wallet has paid so far for the used bonus of a top-up."""
    return sum(Coupon.objects.filter(payment_id=payment_id).values_list("repaid_micros", flat=True))


def kept_micros(payment: Payment) -> int:
    """Return the part of a payment that was neither refunded nor disputed.

    A dispute that was won does not count.
    """
    disputed = payment.disputes.exclude(state=DisputeState.WON).aggregate(total=Sum("amount_micros"))["total"] or 0
    return max(0, payment.amount_micros - payment.refunded_micros - disputed)
