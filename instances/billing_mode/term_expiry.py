"""Ends of reserved terms: on time, renewed or not; early, by the renter; or because nobody pays."""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import transaction

from billing.constants import INSTANCE_SOURCE, TERM_SOURCE
from billing.errors import InsufficientFunds
from billing.ledger.order_log import record_order
from billing.metering.commitments import end_commitment
from billing.metering.costs import exhausted_sources
from billing.metering.escrow import charge_early_end, net_charged, return_unused
from billing.metering.meters import close_meter, prove_meters
from billing.pricing.estimates import HOURLY, RESERVED
from common import clock
from common.db.transactions import use_case
from common.errors import DomainError, StaleRow
from common.money import format_money
from common.transitions import move
from instances.billing_mode.change_quotes import renewal_quote
from instances.constants import TERM_SWEEP_LAG
from instances.core.money_messages import TermOver, TermRenewed, Unpaid, refusal
from instances.core.selectors import active_term, due_terms, instances_of_terms, next_term
from instances.core.silent_hosts import without_silent
from instances.core.transitions import SYSTEM, record_event, touch_host, touch_renter
from instances.lifecycle.stop import stop_now
from instances.metering.meters import hold_for_use, open_use
from instances.metering.reserved_terms import (
    create_term,
    early_end_micros,
    hold_for_term,
    is_prepaid,
    locked_with_wallets,
    payee_of,
    start_term,
    update_locked_columns,
)
from instances.models import Instance, Term
from instances.retention.gpu_reservation import release_gpus
from instances.states import ENDING, TERM_MACHINE, InstanceState, TermState
from marketplace.pricing.prices import TERM_HOURS

logger = logging.getLogger(__name__)

_RUNNING: Final = (InstanceState.RUNNING, InstanceState.RESTARTING)
_TO_RUN: Final = (*_RUNNING, InstanceState.REQUESTED, InstanceState.PROVISIONING, InstanceState.STARTING)


# Ends on time.


def end_due_terms(*, now: datetime, spared: frozenset[UUID] = frozenset()) -> int:
    """End terms that are over and that no report has ended; return how many.

    Instances on the `spared` hosts are left out.
    """
    ids = due_terms(now - TERM_SWEEP_LAG, spared)
    return sum(_try(end_due_term, instance_id, now) for instance_id in ids)


def end_due_term(*, instance_id: UUID, now: datetime, host_is_there: bool = False) -> bool:
    """End a term that is over: the next term begins, it is renewed, or the instance goes on hourly.

    Returns False when the term is not over. With `host_is_there`, a report has just arrived, which proves the term up
    to its end.
    """
    with use_case():
        instance = locked_with_wallets(instance_id)
        term = active_term(instance_id)
        if term is None or term.ends_at > now:
            return False
        if host_is_there:
            prove_meters(source_kind=TERM_SOURCE, source_ids=[term.pk], at=term.ends_at)
        _settle(term, instance, memo="time in which the host did not answer, not charged")
        move(term, TermState.ENDED, machine=TERM_MACHINE, reason="over", actor=SYSTEM, ended_at=term.ends_at)
        if not _begin_next_term(instance, term) and not _renew(instance, term):
            record_event(instance, kind="term_over", actor=SYSTEM, detail=TermOver(at=term.ends_at))
            continue_hourly(instance, term, at=term.ends_at)
        touch_renter(instance)
    return True


def _begin_next_term(instance: Instance, over: Term) -> bool:
    """Begin the term that was renewed ahead, without a gap.

    One that is paid by the hour needs money for an hour now; without it the renewal is cancelled.
    """
    coming = next_term(instance.pk)
    if coming is None:
        return False
    try:
        with transaction.atomic():  # a savepoint: without the money nothing of this may stay
            hold_for_term(coming, instance)
            start_term(coming, instance, at=over.ends_at, payee_id=payee_of(instance))
    except InsufficientFunds as error:
        end_commitment(term_id=coming.pk)
        move(coming, TermState.EXITED, machine=TERM_MACHINE, reason="unpaid", actor=SYSTEM, ended_at=over.ends_at)
        record_event(instance, kind="renewal_failed", actor=SYSTEM, detail=refusal(error))
        return False
    record_event(instance, kind="term_renewed", actor=SYSTEM, detail=TermRenewed(at=coming.ends_at))
    return True


def _renew(instance: Instance, over: Term) -> bool:
    """Agree on the same term again at the present price."""
    if not over.auto_renew or instance.state in ENDING:
        return False
    try:
        with transaction.atomic():  # a savepoint: without the money nothing of this may stay
            quote = renewal_quote(instance, over)
            list_unit = instance.offer.price_micros
            term = create_term(instance=instance, quote=quote, list_unit_micros=list_unit, auto_renew=True)
            start_term(term, instance, at=over.ends_at, payee_id=payee_of(instance))
            record_term(instance, term, kind="renewal")
    except DomainError as error:
        record_event(instance, kind="renewal_failed", actor=SYSTEM, detail=refusal(error))
        return False
    record_event(instance, kind="term_renewed", actor=SYSTEM, detail=TermRenewed(at=term.ends_at))
    return True


def continue_hourly(instance: Instance, over: Term, *, at: datetime) -> None:
    """Bill the instance by the hour at the list price of the ended term.

    The lease goes on, so later prices do not apply. A running instance that cannot be paid is stopped; unused GPUs
    are released.
    """
    paid = True
    rate = over.list_unit_micros * over.gpu_count
    update_locked_columns(instance, billing_mode=HOURLY, rate_micros_per_hour=rate, tiers=[])
    if instance.state in _TO_RUN:
        paid = _try_to_pay(instance, at)
    elif instance.holds_gpus:
        release_gpus(instance, at=at, reason="term over")
    if not paid:
        stop_now(instance, kind="funds_exhausted", actor=SYSTEM, detail=Unpaid())


def _try_to_pay(instance: Instance, at: datetime) -> bool:
    try:
        with transaction.atomic():  # a savepoint: without the money nothing of this may stay
            hold_for_use(instance)
            if instance.state in _RUNNING:
                open_use(instance, at=at, payee_id=payee_of(instance))
    except InsufficientFunds:
        return False
    return True


# Early ends.


def end_term_early(*, instance: Instance, term: Term, actor: str) -> None:
    """End a term early and settle it.

    The price is paid from what was prepaid, else from deposit and wallet; the rest is owed. Call it inside a use case
    that has called `lock_parties`; the caller releases the leases.
    """
    close_meter(source_kind=TERM_SOURCE, source_id=term.pk)
    charged = net_charged(term.pk)
    extra = early_end_micros(term, charged) - charged if term.state == TermState.ACTIVE else 0
    end_commitment(term_id=term.pk)
    whose = f"{instance.name}: reserved term ended early"
    charge_early_end(
        renter_id=instance.renter_id,
        host_owner_id=payee_of(instance),
        term_id=term.pk,
        amount_micros=extra,
        prepaid=is_prepaid(term),
        memo=f"{whose}; {format_money(charged)} of use priced anew at {format_money(charged + extra)}",
    )
    back = term.total_micros - charged - extra if is_prepaid(term) else 0
    if is_prepaid(term):
        memo = f"{whose}; {format_money(term.total_micros)} paid, {format_money(charged + extra)} kept"
        return_unused(renter_id=instance.renter_id, term_id=term.pk, amount_micros=back, memo=memo)
    move(
        term,
        TermState.EXITED,
        machine=TERM_MACHINE,
        reason="ended early",
        actor=actor,
        ended_at=clock.now(),
        exit_fee_micros=extra,
    )
    record_order(
        owner_id=instance.renter_id,
        kind="early_end",
        key=f"early-end:{term.pk.hex}",
        source_kind=INSTANCE_SOURCE,
        source_id=instance.pk,
        title=whose,
        billing_mode=RESERVED,
        amount_micros=extra - back if is_prepaid(term) is False else -back,
    )


def end_terms_early(instance: Instance, *, actor: str) -> bool:
    """End the active and the next term early, as `end_term_early` does; return whether there was any."""
    found = [term for term in (active_term(instance.pk), next_term(instance.pk)) if term is not None]
    for term in found:
        end_term_early(instance=instance, term=term, actor=actor)
    return bool(found)


def end_terms_of_lost_host(instance: Instance) -> None:
    """End the terms of an instance on a lost host.

    What is proven is charged, deposit and prepaid rest are returned, and the early end costs nothing. As for
    `end_term_early`, the caller has locked the parties.
    """
    for term in (active_term(instance.pk), next_term(instance.pk)):
        if term is not None:
            _settle(term, instance, memo="its host was written off")
            ended = TermState.ENDED if term.state == TermState.ACTIVE else TermState.EXITED
            move(term, ended, machine=TERM_MACHINE, reason="host written off", actor=SYSTEM, ended_at=clock.now())


# Unpaid terms.


def end_unpaid_terms(*, now: datetime, spared: frozenset[UUID] = frozenset()) -> int:
    """End terms paid by the hour whose wallet is empty, as early ends; return how many.

    What the early end costs is owed. Instances on silent hosts use up nothing; they and those on the `spared` hosts are
    left out.
    """
    ids = instances_of_terms(exhausted_sources(source_kind=TERM_SOURCE, now=now))
    return sum(_try(end_unpaid_term, instance_id, now) for instance_id in without_silent(ids, now, spared=spared))


def end_unpaid_term(*, instance_id: UUID, now: datetime) -> bool:
    """End an unpaid term early; return False when it was paid or ended meanwhile."""
    with use_case():
        instance = locked_with_wallets(instance_id)
        term = active_term(instance_id)
        if term is None or is_prepaid(term) or term.pk not in exhausted_sources(source_kind=TERM_SOURCE, now=now):
            return False
        end_terms_early(instance, actor=SYSTEM)
        record_event(instance, kind="term_unpaid", actor=SYSTEM, detail=Unpaid())
        end_reservation(instance, at=now)
    return True


def end_reservation(instance: Instance, *, at: datetime) -> None:
    """Stop a running instance, or release the GPUs of a stopped one, since no money is left."""
    rate = instance.offer.price_micros * instance.gpu_count
    update_locked_columns(instance, billing_mode=HOURLY, rate_micros_per_hour=rate, tiers=[])
    if instance.state in _TO_RUN:
        stop_now(instance, kind="funds_exhausted", actor=SYSTEM, detail=Unpaid())
    elif instance.holds_gpus:
        release_gpus(instance, at=at, reason="term unpaid")
    touch_host(instance)


def record_term(instance: Instance, term: Term, *, kind: str) -> None:
    """Record the term as an order, once."""
    length = f"{TERM_HOURS[term.term]} h"
    record_order(
        owner_id=instance.renter_id,
        kind=kind,
        key=f"{kind}:{term.pk.hex}",
        source_kind=INSTANCE_SOURCE,
        source_id=instance.pk,
        title=f"{instance.name}: {term.gpu_count} × {instance.offer.gpu_model}, reserved for {length}",
        billing_mode=RESERVED,
        amount_micros=term.total_micros if is_prepaid(term) else 0,
        rate_micros_per_hour=term.unit_micros * term.gpu_count,
    )


def _settle(term: Term, instance: Instance, *, memo: str) -> None:
    """Charge what is proven, and return what outages left of a prepaid term."""
    close_meter(source_kind=TERM_SOURCE, source_id=term.pk)
    end_commitment(term_id=term.pk)
    if is_prepaid(term):
        rest = term.total_micros - net_charged(term.pk)
        words = f"{instance.name}: reserved term over; {memo}"
        return_unused(renter_id=instance.renter_id, term_id=term.pk, amount_micros=rest, memo=words)


def _try(work: Callable[..., bool], instance_id: UUID, now: datetime) -> bool:
    """Run `work`; an instance that changed meanwhile or fails does not stop the pass for the others."""
    try:
        return work(instance_id=instance_id, now=now)
    except StaleRow:
        return False
    except DomainError:
        logger.exception("term of instance %s", instance_id)
        return False
