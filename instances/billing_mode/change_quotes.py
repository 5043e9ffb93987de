"""Quotes for another billing mode of an instance, and for renewal or early end of its term."""

from fractions import Fraction
from typing import Final
from uuid import UUID

from accounts.models import User
from billing.constants import TERM_SOURCE
from billing.metering.costs import costs_of
from billing.pricing.estimates import HOURLY, NO_UPFRONT, RESERVED, SPOT, TIERED, UPFRONT, Line, Plan
from common import clock
from common.db.transactions import use_case
from common.errors import IllegalTransition
from instances.constants import QUOTE_LIFETIME
from instances.core.selectors import active_term, instance_of, next_term
from instances.metering.reserved_terms import early_end_micros, rate_of
from instances.models import Instance, Quote, Term
from instances.orders.quotes import QuoteRequest, draft_quote, line_of, plan_of
from instances.states import InstanceState, TermState
from marketplace.errors import OfferClosed
from marketplace.leasing.offer_selectors import OfferView, offer_view
from marketplace.pricing.prices import TERM_HOURS
from marketplace.states import HostState

# Possible changes of the mode. None leads to spot: GPUs that are leased already cannot be bid for.
POSSIBLE_CHANGES: Final[dict[str, tuple[str, ...]]] = {
    HOURLY: (TIERED, RESERVED),
    TIERED: (HOURLY, RESERVED),
    SPOT: (HOURLY, TIERED, RESERVED),
    RESERVED: (HOURLY, RESERVED),
}
_CHANGEABLE: Final = (InstanceState.RUNNING, InstanceState.STOPPED)


def quote_change(
    *,
    renter: User,
    instance_id: UUID,
    billing_mode: str,
    term: str = "",
    payment: str = "",
    hours: int | None = None,
) -> Quote:
    """Quote a change at the offer's present prices, without changing the instance.

    From a running term, `reserved` is a renewal that begins when the term ends, and `hourly` its early end. Raises
    NotFound, IllegalTransition, InvalidInput or OfferClosed.
    """
    instance = instance_of(renter, instance_id)
    check_change(instance, billing_mode)
    quote = _draft(instance, billing_mode, term, payment, hours)
    with use_case():
        quote.save(force_insert=True)
    return quote


def renewal_quote(instance: Instance, over: Term) -> Quote:
    """Quote an automatic renewal with the same term and payment; it is saved in the caller's transaction."""
    quote = _draft(instance, RESERVED, over.term, over.payment, None)
    quote.used_at = clock.now()
    quote.save(force_insert=True)
    return quote


def check_change(instance: Instance, billing_mode: str) -> None:
    """Raise IllegalTransition when the instance cannot change to this mode now."""
    possible_modes = changes_of(instance)
    if billing_mode not in possible_modes:
        now = f"An instance that is {instance.state} and billed as {instance.billing_mode}"
        possible = ", ".join(possible_modes) or "nothing"
        raise IllegalTransition(
            f"{now} cannot change to {billing_mode}; possible now: {possible}.",
            state=instance.state,
            modes=list(possible_modes),
        )


def changes_of(instance: Instance) -> tuple[str, ...]:
    """Return the modes that the instance can change to now.

    `reserved` of a reserved instance is a renewal, and only one may be agreed ahead.
    """
    if instance.state not in _CHANGEABLE:
        return ()
    possible_modes = POSSIBLE_CHANGES[instance.billing_mode]
    if instance.billing_mode == RESERVED and (active_term(instance.pk) is None or next_term(instance.pk) is not None):
        return tuple(mode for mode in possible_modes if mode != RESERVED)
    return possible_modes


def _draft(instance: Instance, mode: str, term: str, payment: str, hours: int | None) -> Quote:
    offer = offer_view(instance.offer_id)
    payment = payment or (UPFRONT if mode == RESERVED else "")
    request = QuoteRequest(mode, term, payment, None, hours if hours is not None else TERM_HOURS.get(term, 1))
    plan = plan_of(offer, request)
    if mode == RESERVED:
        _check_stays(offer)
    quote = draft_quote(offer, request, plan, gpu_count=instance.gpu_count, data_disk_gb=0)
    quote.for_instance, quote.image_id, quote.renter_id = instance, instance.image_id, instance.renter_id
    quote.data_disk_gb = instance.data_disk_gb  # its meter goes on as it is
    _set_due(quote, instance, plan)
    return quote


def _set_due(quote: Quote, instance: Instance, plan: Plan) -> None:
    """Set what is due now: an hour's hold for GPUs in use, and the price of an early end.

    A renewal begins later, so its hourly rate is not held yet.
    """
    term = active_term(instance.pk) or next_term(instance.pk)
    renews = term is not None and quote.billing_mode == RESERVED
    uses = instance.state == InstanceState.RUNNING
    if (renews and plan.payment == NO_UPFRONT) or (plan.mode != RESERVED and not uses):
        quote.due_now_micros = 0
    if term is not None and not renews:
        owed = early_end_due(term)
        line = Line("Early end of the reserved term", Fraction(1), "total", owed, owed)
        quote.lines = [*quote.lines, line_of(line)]
        quote.projected_micros += owed
        quote.due_now_micros += max(0, owed)


def early_end_due(term: Term) -> int:
    """Return the price of ending the term now, negative where money comes back.

    It is computed for the quote's last moment, so the real price is never higher.
    """
    cost = costs_of(source_kind=TERM_SOURCE, source_ids=[term.pk], now=clock.now())[term.pk]
    lasts = min(clock.now() + QUOTE_LIFETIME, term.ends_at)
    coming = max(0, int((lasts - clock.now()).total_seconds()) + 1) * rate_of(term) // 3600
    charged = min(cost.total_micros + coming, term.total_micros) if term.state == TermState.ACTIVE else 0
    owed = early_end_micros(term, charged)
    return owed - term.total_micros if term.payment == UPFRONT else owed - charged


def _check_stays(offer: OfferView) -> None:
    if not offer.listed or offer.draining or offer.host_state != HostState.ONLINE:
        raise OfferClosed("The host of this instance doesn't accept new terms right now.")
