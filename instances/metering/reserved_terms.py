"""Reserved terms: agreed and paid, begun with the first run, paused while their host has failed."""

from datetime import datetime, timedelta
from uuid import UUID

from billing.budgets.services import check_order
from billing.constants import TERM_SOURCE
from billing.debts.services import check_owes_nothing
from billing.metering.commitments import commit
from billing.metering.costs import open_holds
from billing.metering.escrow import lock_parties, net_charged, prepay
from billing.metering.holds import hold_funds
from billing.metering.meters import close_meter, open_meter
from billing.pricing.estimates import RESERVED, UPFRONT
from billing.pricing.rates import early_end
from billing.pricing.tariffs import Scope, Tariff
from common import clock
from common.db.prepared import update
from common.transitions import move
from instances.core.selectors import active_term, any_instance
from instances.metering.meters import label_of, scope_of
from instances.models import Instance, Quote, Term
from instances.states import TERM_MACHINE, TermState
from marketplace.pricing.prices import TERM_HOURS


def create_term(
    *, instance: Instance, quote: Quote, list_unit_micros: int, auto_renew: bool = False, ahead: bool = False
) -> Term:
    """Store a term and take its money: all of it upfront, else hold the deposit and an hour.

    With `ahead`, it follows a term that still runs, so nothing is held for it yet. Raises InsufficientFunds.
    """
    hours, now = TERM_HOURS[quote.term], clock.now()
    total = quote.committed_micros or 0
    term = Term(
        instance=instance,
        quote=quote,
        term=quote.term,
        payment=quote.payment,
        gpu_count=instance.gpu_count,
        unit_micros=total // (hours * instance.gpu_count),
        list_unit_micros=list_unit_micros,
        total_micros=total,
        starts_at=now,
        ends_at=now + timedelta(hours=hours),
        auto_renew=auto_renew,
    )
    needed = total if is_prepaid(term) else rate_of(term)
    check_order(owner_id=instance.renter_id, source_id=instance.pk, needed_micros=needed)
    if is_prepaid(term):
        memo = f"{label_of(instance)}, reserved: {hours} h at {instance.gpu_count} × the price of the term, paid upfront"
        scope = _scope(instance)
        prepay(renter_id=instance.renter_id, term_id=term.pk, amount_micros=total, memo=memo, scope=scope)
    else:
        check_owes_nothing(instance.renter_id)
    if not ahead:
        hold_for_term(term, instance)
    term.save(force_insert=True)
    return term


def start_term(term: Term, instance: Instance, *, at: datetime, payee_id: UUID) -> None:
    """Begin a term: from `at` on it is charged, whether the instance runs or not."""
    ends_at = at + timedelta(hours=TERM_HOURS[term.term])
    move(term, TermState.ACTIVE, machine=TERM_MACHINE, reason="begun", actor="system", starts_at=at, ends_at=ends_at)
    _open(term, instance, at=at, payee_id=payee_id)


def hold_for_term(term: Term, instance: Instance) -> None:
    """Hold the rest of a prepaid term in escrow, else the deposit and one hour.

    Raises InsufficientFunds.
    """
    prepaid = is_prepaid(term)
    if not prepaid:
        commit(
            owner_id=instance.renter_id,
            term_id=term.pk,
            rate_micros=rate_of(term),
            list_rate_micros=term.list_unit_micros * term.gpu_count,
            total_micros=term.total_micros,
        )
    hold_funds(
        owner_id=instance.renter_id,
        amount_micros=term.total_micros - net_charged(term.pk) if prepaid else rate_of(term),
        source_kind=TERM_SOURCE,
        source_id=term.pk,
        scope=_scope(instance),
        from_escrow=prepaid,
    )


def pause_term(instance: Instance) -> Term | None:
    """Pause the active term after a fault of its host; it is not charged and holds nothing meanwhile."""
    term = active_term(instance.pk)
    if term is not None:
        close_meter(source_kind=TERM_SOURCE, source_id=term.pk)
    return term


def resume_term(term: Term, instance: Instance, *, at: datetime, payee_id: UUID) -> None:
    """Resume a paused term; one that is not paused, or is over, is left alone.

    Raises InsufficientFunds.
    """
    if at >= term.ends_at or open_holds(source_kind=TERM_SOURCE, source_ids=[term.pk]):
        return
    hold_for_term(term, instance)
    _open(term, instance, at=at, payee_id=payee_id)


def payee_of(instance: Instance) -> UUID:
    """Return the owner of the instance's host, from the annotation `payee_id` if there is one."""
    known: UUID | None = getattr(instance, "payee_id", None)
    return known or instance.host.owner_id


def locked_with_wallets(instance_id: UUID) -> Instance:
    """Lock the wallets of the instance's parties and return it as it is then."""
    found = any_instance(instance_id)
    lock_parties(renter_id=found.renter_id, host_owner_id=payee_of(found))
    return any_instance(instance_id)


def update_locked_columns(instance: Instance, **fields: object) -> None:
    """Change columns other than the state, and raise StaleRow if the row has changed since it was read.

    The generation grows, so that whoever read the row before gets StaleRow in turn.
    """
    where: dict[str, object] = {"id": instance.pk, "state": instance.state, "generation": instance.generation}
    update(Instance, where=where, stale="The instance changed meanwhile; read it again.", **fields)
    instance.generation += 1
    for name, value in fields.items():
        setattr(instance, name, value)


def _open(term: Term, instance: Instance, *, at: datetime, payee_id: UUID) -> None:
    open_meter(
        source_kind=TERM_SOURCE,
        source_id=term.pk,
        payer_id=instance.renter_id,
        payee_id=payee_id,
        label=label_of(instance, "reserved"),
        tariff=Tariff(rate_of(term)),
        at=at,
        from_escrow=is_prepaid(term),
    )


def _scope(instance: Instance) -> Scope:
    return Scope(mode=RESERVED, gpu_model=scope_of(instance).gpu_model)


# Prices.


def rate_of(term: Term) -> int:
    """Return the price of all GPUs of the term per hour, in micro-units."""
    return term.unit_micros * term.gpu_count


def is_prepaid(term: Term) -> bool:
    return term.payment == UPFRONT


def early_end_micros(term: Term, charged_micros: int) -> int:
    """Return the whole price of a term that ends now, in micro-units.

    It is its use at the price without discount, plus EARLY_END_BPS.
    """
    return early_end(
        charged_micros,
        unit_micros=term.unit_micros,
        list_unit_micros=term.list_unit_micros,
        total_micros=term.total_micros,
    )
