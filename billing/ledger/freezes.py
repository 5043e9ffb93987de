"""Freezes of outgoing money after a restore, until Stripe and the ledger agree.

What left the market after the backup is not known.
"""

from datetime import datetime

from billing.models import MoneyFreeze
from common import clock
from common.db.transactions import use_case
from common.unfinished_restore import restore_is_unfinished


def freeze_money(*, reason: str) -> None:
    """Start a freeze; while one stands, no other starts."""
    with use_case():
        MoneyFreeze.objects.bulk_create([MoneyFreeze(reason=reason[:200], since=clock.now())], ignore_conflicts=True)


def money_is_frozen() -> bool:
    return MoneyFreeze.objects.filter(lifted_at=None).exists() or restore_is_unfinished()


def frozen_since() -> datetime | None:
    """Return when the present freeze began, or None."""
    return MoneyFreeze.objects.filter(lifted_at=None).values_list("since", flat=True).first()


def was_frozen_after(moment: datetime) -> bool:
    """Return whether a freeze began since `moment`; older rows may then misstate what happened at Stripe."""
    return MoneyFreeze.objects.filter(since__gte=moment).exists()


def lift_freeze(*, by: str, begun_before: datetime | None = None) -> bool:
    """End the present freeze and return whether there was one.

    With `begun_before`, only a freeze that began before that moment is ended.
    """
    with use_case():
        standing = MoneyFreeze.objects.filter(lifted_at=None)
        if begun_before is not None:
            standing = standing.filter(since__lt=begun_before)
        return bool(standing.update(lifted_at=clock.now(), lifted_by=by[:200]))
