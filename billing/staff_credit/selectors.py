"""Reads of who has granted credit, and how much one person has granted alone."""

from typing import Final
from uuid import UUID

from django.db.models import Sum

from accounts.models import User
from billing.constants import GRANT_ALONE_WITHIN
from billing.models import CouponCode, Grant
from common import clock

_STAFF: Final = "staff:"


def name_of(actor: str) -> str:
    """Return the mail address of a member of staff, else the actor unchanged."""
    if not actor.startswith(_STAFF):
        return actor or "–"
    try:
        key = UUID(actor.removeprefix(_STAFF))
    except ValueError:
        return actor
    return User.objects.filter(pk=key).values_list("email", flat=True).first() or actor


def granted_alone(actor: str) -> int:
    """Return what this person granted or can give by coupon codes, alone, within GRANT_ALONE_WITHIN.

    Runs in a transaction that has locked the market's wallet of outside money.
    """
    own = {"confirmed_by": "", "created_at__gt": clock.now() - GRANT_ALONE_WITHIN}
    grants = Grant.objects.filter(requested_by=actor, state=Grant.State.POSTED, **own)
    codes = CouponCode.objects.filter(created_by=actor, waits=False, **own)
    granted = grants.aggregate(total=Sum("amount_micros"))["total"] or 0
    return int(granted) + sum(code.worth_micros or 0 for code in codes)
