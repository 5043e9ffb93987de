"""Nothing leaves the market from a restore on until Stripe and the ledger agree: what left after the backup is not known."""

from datetime import datetime

from billing.models import MoneyFreeze
from common import clock
from common.db.transactions import use_case
from common.unfinished_restore import restore_is_unfinished


def freeze_money(*, reason: str) -> None:
    """Once: while one freeze stands, no other begins."""
    with use_case():
        MoneyFreeze.objects.bulk_create([MoneyFreeze(reason=reason[:200], since=clock.now())], ignore_conflicts=True)


def money_is_frozen() -> bool:
    return MoneyFreeze.objects.filter(lifted_at=None).exists() or restore_is_unfinished()


def frozen_since() -> datetime | None:
    """When the freeze that stands began."""
    return MoneyFreeze.objects.filter(lifted_at=None).values_list("since", flat=True).first()


def was_frozen_after(moment: datetime) -> bool:
    """Whether a freeze has begun since: what a row from before says of the world outside may be out of date."""
    return MoneyFreeze.objects.filter(since__gte=moment).exists()


def lift_freeze(*, by: str, begun_before: datetime | None = None) -> bool:
    """Let money leave again. `begun_before`: only a freeze from before that moment."""
    with use_case():
        standing = MoneyFreeze.objects.filter(lifted_at=None)
        if begun_before is not None:
            standing = standing.filter(since__lt=begun_before)
        return bool(standing.update(lifted_at=clock.now(), lifted_by=by[:200]))
