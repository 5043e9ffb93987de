"""Budgets over instances, users and teams, and the sweep that stops what a hard budget does not cover."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from accounts.models import User
from accounts.selectors import owned_team, owned_team_member, owners_of_team
from billing.budgets.selectors import all_budgets, over_budget
from billing.budgets.services import create_budget, notify_limit_reached, notify_marks, record_sources
from billing.constants import INSTANCE_SOURCE
from billing.metering.settle import lock_source
from instances.core.money_messages import BudgetReached
from instances.core.selectors import instance_of
from instances.core.silent_hosts import without_silent
from instances.lifecycle.stop import halt_instance
from instances.models import Term
from marketplace.reliability.silence_selectors import silent_hosts_in_mass_silence

if TYPE_CHECKING:
    from billing.models import Budget


def set_budget(*, owner: User, scope: str, subject_id: UUID | None, period: str, limit_micros: int, hard: bool) -> "Budget":
    """Create a budget over an instance or team that the user owns, over a member of it, or the user.

    Without a subject it is over the user. Raises NotFound for any other subject, and BudgetExists for a second budget
    of the same subject and period.
    """
    subject_id = owner.pk if subject_id is None else subject_id
    budget = create_budget(
        owner_id=owner.pk,
        scope=scope,
        subject_id=subject_id,
        name=_name_of(owner, scope, subject_id),
        period=period,
        limit_micros=limit_micros,
        hard=hard,
    )
    if scope == "instance":
        record_sources(sources=_terms_of([subject_id]))
    return budget


def enforce_budgets(*, now: datetime) -> int:
    """Notify of budget thresholds that were reached, and stop instances that hard budgets do not cover.

    Those on silent hosts cost nothing and are left out. Returns how many instances were stopped.
    """
    budgets = all_budgets()
    record_sources(sources=_terms_of([budget.subject_id for budget in budgets if budget.scope == "instance"]))
    notify_marks(people={budget.pk: _recipients(budget) for budget in budgets}, now=now)
    over = over_budget(source_kind=INSTANCE_SOURCE, now=now)
    ids = without_silent(list(over), now, spared=silent_hosts_in_mass_silence(now))
    return sum(_stop(instance_id, over[instance_id], now) for instance_id in ids)


def _stop(instance_id: UUID, budget: "Budget", now: datetime) -> bool:
    """Stop an instance unless it is within the budget again.

    That is checked with the wallet locked: a limit that was raised meanwhile keeps it running.
    """
    detail = BudgetReached(budget=budget.name)
    still = partial(_is_over, instance_id, now)
    halted = halt_instance(instance_id=instance_id, kind="budget_reached", detail=detail, only_if=still)
    if halted:
        notify_limit_reached(budget=budget, people=_recipients(budget), now=now)
    return halted


def _is_over(instance_id: UUID, now: datetime) -> bool:
    lock_source(source_kind=INSTANCE_SOURCE, source_id=instance_id)
    return instance_id in over_budget(source_kind=INSTANCE_SOURCE, now=now, source_id=instance_id, lock=True)


def _name_of(owner: User, scope: str, subject_id: UUID) -> str:
    if scope == "instance":
        return instance_of(owner, subject_id).name
    if scope == "team":
        return owned_team(owner, subject_id).name
    return str(owner if subject_id == owner.pk else owned_team_member(owner, subject_id))


def _recipients(budget: "Budget") -> list[UUID]:
    """Return whom to notify: who created it, the member it is over, and every owner of the team."""
    if budget.scope == "member":
        return sorted({budget.owner_id, budget.subject_id})
    if budget.scope == "team":
        return sorted({budget.owner_id, *owners_of_team(budget.subject_id)})
    return [budget.owner_id]


def _terms_of(instance_ids: Sequence[UUID]) -> dict[UUID, list[UUID]]:
    found: dict[UUID, list[UUID]] = {instance_id: [] for instance_id in instance_ids}
    for instance_id, term_id in (
        Term.objects.filter(instance_id__in=instance_ids).order_by("pk").values_list("instance_id", "pk")
    ):
        found[instance_id].append(term_id)
    return found
