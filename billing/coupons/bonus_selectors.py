"""Reads of the bonus that a percent coupon has given for a top-up."""

from uuid import UUID

from django.db.models import Sum

from billing.coupons.rules import Bonus
from billing.models import Coupon, Payment
from billing.states import DisputeState


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
