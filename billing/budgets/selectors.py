"""Reads of budgets: covered wallets, money spent and held, and what hard budgets still allow."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from billing.constants import HOLD_SOURCE, INSTANCE_SOURCE
from billing.ledger.raw_rows import planned_rows, rows
from billing.models import Budget, Notice
from billing.models.metering import PAYABLE_UNTIL_SQL, PROVABLE
from common import clock
from common.errors import NotFound

STOPPED_KINDS = (INSTANCE_SOURCE, HOLD_SOURCE)
"""Kinds of sources that a hard budget stops. Kept data and agreed terms go on, and count towards it."""

# The wallets that a budget covers. A budget over other people's wallets counts while its owner owns a team that they
# belong to.
COVERS = """
    SELECT budget.id AS budget_id, wallet.id AS wallet_id
    FROM {budgets} AS budget
    CROSS JOIN LATERAL (
        SELECT budget.owner_id AS payer WHERE scope = 'instance' OR scope = 'member' AND budget.owner_id = budget.subject_id
        UNION
        SELECT theirs.user_id FROM accounts_membership mine JOIN accounts_membership theirs USING (team_id)
        WHERE mine.user_id = budget.owner_id AND mine.role = 'owner'
          AND (scope = 'team' AND team_id = budget.subject_id AND theirs.user_id IS NOT NULL
               OR scope = 'member' AND theirs.user_id = budget.subject_id)) AS payers
    JOIN billing_wallet wallet ON wallet.owner_id = payer AND wallet.kind = 'renter'
"""

_ACCRUED = """COALESCE(sum(
    billing_meter_cost(meter, GREATEST(settled_until, LEAST(billing_meter_end(meter, %(now)s), %(now)s)))
    - billing_meter_cost(meter, settled_until)), 0)"""
_OF_SOURCES = "{0}.source_kind IN ('instance', 'disk', 'hold', 'retention', 'term') AND {0}.source_id = ANY(ids)"

# An hour counts in the month in which it is charged, a term in the month in which it is paid. For an instance, its
# use counts.
_MEASURE = f"""
WITH chosen AS MATERIALIZED (
    SELECT *, CASE period WHEN 'month' THEN date_trunc('month', %(now)s::timestamptz, 'UTC') ELSE '-infinity' END AS since
    FROM billing_budget WHERE id = ANY(%(budgets)s::uuid[])
), covered AS MATERIALIZED ({COVERS.format(budgets="chosen")}
), of_wallets AS (
    SELECT chosen.id, sum(posted) AS posted, sum(held) AS held, sum(accrued) AS accrued
    FROM chosen JOIN covered ON budget_id = chosen.id
    CROSS JOIN LATERAL (
        SELECT COALESCE(-sum(amount_micros), 0) AS posted
        FROM billing_entry entry JOIN billing_posting posting ON posting.id = posting_id
        WHERE entry.wallet_id = covered.wallet_id AND entry.kind IN ('charge', 'refund', 'prepaid', 'exit_fee')
          AND posting.created_at >= since) AS posted
    CROSS JOIN LATERAL (
        SELECT COALESCE(sum(amount_micros), 0) AS held FROM billing_hold hold
        WHERE hold.wallet_id = covered.wallet_id AND released_at IS NULL AND source_kind <> 'watch') AS held
    CROSS JOIN LATERAL (
        SELECT {_ACCRUED} AS accrued
        FROM billing_meter meter WHERE payer_id = covered.wallet_id AND NOT is_finished) AS accrued
    WHERE scope <> 'instance' GROUP BY chosen.id
), of_sources AS (
    SELECT chosen.id, used.posted - returned.micros AS posted, held, accrued
    FROM chosen
    CROSS JOIN LATERAL (SELECT subject_id || source_ids AS ids) AS sources
    CROSS JOIN LATERAL (
        SELECT COALESCE(sum(charge_micros), 0) AS posted
        FROM billing_meter meter JOIN billing_usage usage ON usage.meter_id = meter.id
        JOIN billing_posting posting ON posting.id = usage.posting_id AND posting.created_at >= since
        WHERE {_OF_SOURCES.format("meter")}) AS used
    CROSS JOIN LATERAL (
        SELECT COALESCE(sum(amount_micros), 0) AS micros
        FROM billing_posting posting JOIN billing_entry entry ON entry.posting_id = posting.id
        JOIN covered ON covered.wallet_id = entry.wallet_id AND covered.budget_id = chosen.id
        WHERE {_OF_SOURCES.format("posting")}
          AND entry.kind IN ('refund', 'exit_fee') AND posting.created_at >= since) AS returned
    CROSS JOIN LATERAL (
        SELECT COALESCE(sum(amount_micros), 0) AS held FROM billing_hold hold
        WHERE {_OF_SOURCES.format("hold")} AND released_at IS NULL) AS held
    CROSS JOIN LATERAL (
        SELECT {_ACCRUED} AS accrued FROM billing_meter meter
        WHERE {_OF_SOURCES.format("meter")} AND NOT is_finished) AS accrued
    WHERE scope = 'instance'
)
SELECT * FROM of_wallets UNION ALL SELECT * FROM of_sources
"""  # noqa: S608  (its parts are constants of this module)

# The same query starting from the wallets: every order runs it, so it reads only the rows of these wallets.
_HARD_OF_WALLETS = """
SELECT budget.id, wallet.id
FROM billing_wallet wallet
CROSS JOIN LATERAL (
    SELECT id FROM billing_budget WHERE hard AND scope = 'instance' AND owner_id = wallet.owner_id
    UNION
    SELECT id FROM billing_budget WHERE hard AND scope = 'member' AND subject_id = wallet.owner_id AND owner_id = subject_id
    UNION
    SELECT budget.id
    FROM accounts_membership theirs
    JOIN accounts_membership mine ON mine.team_id = theirs.team_id AND mine.role = 'owner'
    JOIN billing_budget budget ON hard AND budget.owner_id = mine.user_id
         AND (scope = 'team' AND subject_id = theirs.team_id OR scope = 'member' AND subject_id = theirs.user_id)
    WHERE theirs.user_id = wallet.owner_id) AS budget
WHERE wallet.id = ANY(%(wallets)s::uuid[])
"""

# Meters that are open past the end of their hold: a wallet with money and room in its budgets would have been renewed
# before. What has not been proven for a while has the rest of its hold to go on with.
_ENDED = f"""
SELECT source_id, payer_id,
       CASE WHEN most_micros IS NULL
            THEN billing_meter_cost(meter, funded_until + interval '1 hour') - billing_meter_cost(meter, funded_until)
            ELSE most_micros / rate_hours END
FROM billing_meter meter
WHERE closed_at IS NULL AND source_kind = %(kind)s
  AND funded_until <= %(at)s AND funded_until <= {PAYABLE_UNTIL_SQL}
  AND (%(source)s::uuid IS NULL OR source_id = %(source)s)
ORDER BY funded_until, id
"""  # noqa: S608  (its parts are constants)


@dataclass(frozen=True)
class BudgetUse:
    """Used part of a budget: charged, held for hours that have begun, and accrued but not charged yet."""

    posted_micros: int = 0
    held_micros: int = 0
    accrued_micros: int = 0

    @property
    def spent_micros(self) -> int:
        return self.posted_micros + self.accrued_micros

    @property
    def bound_micros(self) -> int:
        """Return the most that will be spent if nothing more is held: holds pay for what accrues."""
        return self.posted_micros + self.held_micros


@dataclass(frozen=True)
class BudgetView:
    """A budget with the amount spent in its present month, or in total for a budget without a month."""

    budget: Budget
    use: BudgetUse

    @property
    def percent(self) -> int:
        return max(0, 100 * self.use.spent_micros // self.budget.limit_micros)

    @property
    def left_micros(self) -> int:
        return max(0, self.budget.limit_micros - self.use.spent_micros)


@dataclass
class BudgetHeadroom:
    """Amount that a hard budget still allows; `sources` None means every source that its wallets pay for."""

    budget: Budget
    bound_micros: int
    sources: frozenset[UUID] | None

    def allows(self, micros: int) -> bool:
        return self.bound_micros + micros <= self.budget.limit_micros


@dataclass
class BudgetHeadrooms:
    """Hard budgets over some wallets, reduced by the renewals of one pass."""

    of_wallet: dict[UUID, list[BudgetHeadroom]] = field(default_factory=dict)

    def covering(self, wallet_id: UUID, source_id: UUID) -> list[BudgetHeadroom]:
        headrooms = self.of_wallet.get(wallet_id, [])
        return [headroom for headroom in headrooms if headroom.sources is None or source_id in headroom.sources]

    def most_hours(self, wallet_id: UUID, source_id: UUID, wanted: int, missing: Callable[[int], int]) -> int:
        """Return the most hours, up to `wanted`, that every budget allows.

        `missing` returns the micro-units that still have to be held for a number of hours.
        """
        headrooms = self.covering(wallet_id, source_id)
        fits = (
            hours for hours in range(wanted, 0, -1) if all(headroom.allows(max(0, missing(hours))) for headroom in headrooms)
        )
        return next(fits, 0) if headrooms else wanted

    def bind(self, wallet_id: UUID, source_id: UUID, micros: int) -> None:
        for headroom in self.covering(wallet_id, source_id):
            headroom.bound_micros += micros


def all_budgets() -> list[Budget]:
    """Return the budgets of all users, for the sweep."""
    return list(Budget.objects.order_by("pk"))


def budgets_of(*, owner_id: UUID) -> QuerySet[Budget]:
    """Return the budgets that this user has set, in the model's default order."""
    return Budget.objects.filter(owner_id=owner_id)


def budget_of(*, owner_id: UUID, budget_id: UUID) -> Budget:
    """Return one budget that this user has set.

    Raises:
        NotFound: the user has set no such budget.
    """
    budget = budgets_of(owner_id=owner_id).filter(pk=budget_id).first()
    if budget is None:
        raise NotFound("This budget doesn't exist.")
    return budget


def budget_views(budgets: Iterable[Budget], *, now: datetime) -> list[BudgetView]:
    """Return each budget with its use, measured by one query for all."""
    found = list(budgets)
    uses = measure([budget.pk for budget in found], now=now)
    return [BudgetView(budget, uses.get(budget.pk, BudgetUse())) for budget in found]


def measure(budget_ids: Sequence[UUID], *, now: datetime) -> dict[UUID, BudgetUse]:
    if not budget_ids:
        return {}
    found = rows(_MEASURE, budgets=list(budget_ids), now=now)
    return {row[0]: BudgetUse(*(int(micros) for micros in row[1:])) for row in found}


def budget_headrooms_of(wallet_ids: Sequence[UUID], *, now: datetime, lock: bool = False) -> BudgetHeadrooms:
    """Return the hard budgets over these wallets, with what they still allow.

    With `lock`, the budgets stay locked until the transaction ends, so that two wallets of one team cannot both
    take the last hour. The caller has locked the wallets before.
    """
    covered = planned_rows(_HARD_OF_WALLETS, wallets=list(wallet_ids))
    if not covered:
        return BudgetHeadrooms()
    budgets = Budget.objects.filter(pk__in={budget_id for budget_id, _wallet in covered}, hard=True).order_by("pk")
    if lock:
        budgets = budgets.select_for_update(of=("self",), no_key=True)
    by_id = {budget.pk: budget for budget in budgets}
    uses = measure(list(by_id), now=now)
    room_of = {pk: _room(budget, uses.get(pk, BudgetUse())) for pk, budget in by_id.items()}
    found = BudgetHeadrooms()
    for budget_id, wallet_id in covered:
        if budget_id in room_of:
            found.of_wallet.setdefault(wallet_id, []).append(room_of[budget_id])
    return found


def over_budget(*, source_kind: str, now: datetime, source_id: UUID | None = None, lock: bool = False) -> dict[UUID, Budget]:
    """Return the sources that run on past their hold since a hard budget allows no further hour.

    The result maps each source to the first budget that is exhausted.
    """
    ended = rows(_ENDED, kind=source_kind, at=now, provable=PROVABLE, source=source_id)
    headrooms = (
        budget_headrooms_of([wallet_id for _source, wallet_id, _cost in ended], now=now, lock=lock)
        if ended
        else BudgetHeadrooms()
    )
    found: dict[UUID, Budget] = {}
    for source, wallet_id, cost in ended:
        full = [headroom.budget for headroom in headrooms.covering(wallet_id, source) if not headroom.allows(int(cost))]
        if full:
            found[source] = full[0]
    return found


def highest_notices_of(*, person_id: UUID, now: datetime) -> list[Notice]:
    """Return the highest notified mark of each budget.

    Counts notices for the present month, and those for budgets without a month.
    """
    notices = Notice.objects.filter(person_id=person_id, kind=Notice.Kind.BUDGET, facts__period__in=["", period_key(now)])
    known = set(Budget.objects.filter(pk__in=notices.values("subject_id")).values_list("pk", flat=True))
    highest: dict[UUID | None, Notice] = {}
    for notice in notices.order_by("at"):
        if notice.subject_id in known:
            highest[notice.subject_id] = notice
    return list(highest.values())


def period_key(now: datetime | None = None) -> str:
    """Return the present month in UTC, such as `2026-11`."""
    return f"{now or clock.now():%Y-%m}"


def _room(budget: Budget, use: BudgetUse) -> BudgetHeadroom:
    sources = frozenset((budget.subject_id, *budget.source_ids)) if budget.scope == Budget.Scope.INSTANCE else None
    return BudgetHeadroom(budget, use.bound_micros, sources)
