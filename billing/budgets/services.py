"""Budgets: creation, changes, refusals by hard ones, and one notice per reached mark."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError

from accounts.event_log.services import record_event
from billing.budgets.selectors import BudgetView, budget_headrooms_of, budget_views, budgets_of, period_key
from billing.constants import (
    BUDGET_MARKS,
    BUDGETS_AT_MOST,
    DISK_SOURCE,
    HOLD_SOURCE,
    INSTANCE_SOURCE,
    RETENTION_SOURCE,
    SNAPSHOT_SOURCE,
    VOLUME_SOURCE,
)
from billing.errors import BudgetExceeded, BudgetExists
from billing.ledger.wallets import open_wallet
from billing.models import Budget, Notice
from billing.standing.mail import delete_notices_of_budget
from common import change_counters, clock
from common.db.transactions import use_case
from common.errors import FieldError, InvalidInput, NotFound
from common.money import format_money

ORDER = "order"
ASKED = frozenset({INSTANCE_SOURCE, DISK_SOURCE, HOLD_SOURCE, RETENTION_SOURCE, VOLUME_SOURCE, SNAPSHOT_SOURCE, ORDER})
"""Kinds of holds that a hard budget may refuse. Waiting in a list spends nothing, and an agreed term goes on after a
fault of its host: its order itself is checked under ORDER."""


def create_budget(
    *, owner_id: UUID, scope: str, subject_id: UUID, name: str, period: str, limit_micros: int, hard: bool
) -> Budget:
    """Create a budget; there is one for each subject and period.

    The caller checks whether the owner may limit this subject.

    Raises:
        BudgetExists: the owner has such a budget already.
        InvalidInput: the limit is not valid, or the owner has too many budgets.
    """
    _check_limit(limit_micros)
    with use_case():
        if budgets_of(owner_id=owner_id).count() >= BUDGETS_AT_MOST:
            raise InvalidInput(f"You can have at most {BUDGETS_AT_MOST} budgets.")
        same = Budget.objects.filter(owner_id=owner_id, scope=scope, subject_id=subject_id, period=period)
        if same.exists():
            raise BudgetExists
        try:
            made = Budget.objects.create(
                owner_id=owner_id,
                scope=scope,
                subject_id=subject_id,
                name=name[:120],
                period=period,
                limit_micros=limit_micros,
                hard=hard,
            )
        except IntegrityError as error:  # two at once
            raise BudgetExists from error
        record_event(user_id=owner_id, kind="limit.set", subject=_named(made))
    return made


def change_budget(*, owner_id: UUID, budget_id: UUID, limit_micros: int | None = None, hard: bool | None = None) -> Budget:
    """Change a budget's limit or hardness; a new limit is notified of again from its first mark.

    Raises:
        NotFound: the user has set no such budget.
    """
    if limit_micros is not None:
        _check_limit(limit_micros)
    with use_case():
        budget = _locked(owner_id, budget_id)
        if limit_micros is not None and limit_micros != budget.limit_micros:
            budget.limit_micros, budget.told_period, budget.told_percent = limit_micros, "", 0
            delete_notices_of_budget(budget.pk)
        if hard is not None:
            budget.hard = hard
        budget.save(update_fields=["limit_micros", "hard", "told_period", "told_percent"])
        record_event(user_id=owner_id, kind="limit.changed", subject=_named(budget))
    return budget


def remove_budget(*, owner_id: UUID, budget_id: UUID) -> None:
    with use_case():
        budget = _locked(owner_id, budget_id)
        delete_notices_of_budget(budget.pk)
        record_event(user_id=owner_id, kind="limit.removed", subject=_named(budget))
        budget.delete()


def _named(budget: Budget) -> str:
    return f"{budget.name}: {format_money(budget.limit_micros)}"


def check_budgets(*, wallet_id: UUID, source_kind: str, source_id: UUID, needed_micros: int) -> None:
    """Refuse to hold money beyond a hard budget.

    The caller has locked the wallet; this locks the budgets.

    Raises:
        BudgetExceeded: a hard budget does not allow the amount.
    """
    if source_kind not in ASKED:
        return
    headrooms = budget_headrooms_of([wallet_id], now=clock.now(), lock=True)
    for headroom in headrooms.covering(wallet_id, source_id):
        if not headroom.allows(needed_micros):
            raise _exceeded(headroom.budget, headroom.bound_micros, needed_micros)


def check_order(*, owner_id: UUID, source_id: UUID, needed_micros: int) -> None:
    """Refuse to agree on a term beyond a hard budget.

    The caller has locked the owner's wallet.

    Raises:
        BudgetExceeded: a hard budget does not allow the amount.
    """
    wallet = open_wallet(owner_id=owner_id)
    check_budgets(wallet_id=wallet.pk, source_kind=ORDER, source_id=source_id, needed_micros=needed_micros)


def record_sources(*, sources: Mapping[UUID, Sequence[UUID]]) -> None:
    """Record for each instance the further ids under which it is charged: its reserved terms."""
    with use_case():
        for budget in Budget.objects.filter(scope=Budget.Scope.INSTANCE, subject_id__in=sources).order_by("pk"):
            ids = sorted(sources[budget.subject_id])
            if ids != budget.source_ids:
                Budget.objects.filter(pk=budget.pk).update(source_ids=ids)


def notify_marks(*, people: Mapping[UUID, Iterable[UUID]], now: datetime) -> int:
    """Notify people of every mark reached since the last pass, and return for how many budgets.

    `people` maps a budget's id to the users who are notified.
    """
    views = budget_views(Budget.objects.filter(pk__in=people), now=now)
    return sum(_notify(view, _mark(view.percent), set(people[view.budget.pk]), now) for view in views)


def notify_limit_reached(*, budget: Budget, people: Iterable[UUID], now: datetime) -> None:
    """Notify people that a hard budget has stopped something.

    This counts as the budget's last mark, although the limit itself is not passed.
    """
    (view,) = budget_views([budget], now=now)
    _notify(view, 100, set(people), now)


def _notify(view: BudgetView, mark: int, people: set[UUID], now: datetime) -> bool:
    budget = view.budget
    period = period_key(now) if budget.period == Budget.Period.MONTH else ""
    notified = budget.told_percent if budget.told_period == period else 0
    if mark <= notified:
        return False
    with use_case():
        same = Budget.objects.filter(pk=budget.pk, told_period=budget.told_period, told_percent=budget.told_percent)
        if not same.update(told_period=period, told_percent=mark):
            return False  # another worker was faster
        Notice.objects.bulk_create((_notice(view, mark, period, person, now) for person in people), ignore_conflicts=True)
        change_counters.notify_change(*(f"user:{person.hex}" for person in people))
    return True


def _notice(view: BudgetView, mark: int, period: str, person_id: UUID, now: datetime) -> Notice:
    budget = view.budget
    return Notice(
        person_id=person_id,
        kind=Notice.Kind.BUDGET,
        key=f"budget:{budget.pk.hex}:{period}:{mark}:{budget.limit_micros}:{person_id.hex}",
        subject_id=budget.pk,
        facts={
            "name": budget.name,
            "percent": mark,
            "period": period,
            "spent_micros": view.use.spent_micros,
            "limit_micros": budget.limit_micros,
            "hard": budget.hard,
        },
        at=now,
    )


def _mark(percent: int) -> int:
    return max((mark for mark in BUDGET_MARKS if mark <= percent), default=0)


def _locked(owner_id: UUID, budget_id: UUID) -> Budget:
    found = budgets_of(owner_id=owner_id).filter(pk=budget_id).select_for_update(of=("self",), no_key=True).order_by("pk")
    budget = found.first()
    if budget is None:
        raise NotFound("This budget doesn't exist.")
    return budget


def _check_limit(limit_micros: int) -> None:
    if limit_micros <= 0:
        raise InvalidInput("A budget must be more than zero.", errors=[FieldError("limit", "invalid", "More than zero.")])


def _exceeded(budget: Budget, bound_micros: int, needed_micros: int) -> BudgetExceeded:
    left = format_money(max(0, budget.limit_micros - bound_micros))
    return BudgetExceeded(
        f"You need {format_money(needed_micros)}; the budget “{budget.name}” has {left} left.",
        needed=format_money(needed_micros),
        left=left,
        limit=format_money(budget.limit_micros),
    )
