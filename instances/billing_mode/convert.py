"""Changes of the billing mode of an instance; the container and its GPUs stay as they are."""

from typing import Any
from uuid import UUID

from accounts.models import User
from billing.constants import INSTANCE_SOURCE
from billing.ledger.order_log import record_order
from billing.metering.escrow import lock_parties
from billing.pricing.estimates import HOURLY, RESERVED, SPOT
from common import clock
from common.db.transactions import use_case
from instances.billing_mode.change_quotes import check_change
from instances.billing_mode.term_expiry import end_terms_early, record_term
from instances.constants import RETENTION
from instances.core.capacity_hints import hint_waiting
from instances.core.money_messages import ModeChanged
from instances.core.selectors import instance_of
from instances.core.transitions import RENTER, check_action, record_event, touch_host, touch_renter
from instances.metering.meters import close_kept_gpus, close_use, hold_for_use, open_use
from instances.metering.reserved_terms import create_term, payee_of, start_term, update_locked_columns
from instances.models import Instance, Quote, Term
from instances.orders.quote_claims import ANYTHING, Expected, check_match, claim_quote
from instances.orders.rent import gpu_terms
from instances.spot.bid_changes import leave_spot
from instances.states import InstanceState
from marketplace.errors import PriceChanged
from marketplace.leasing.lease import release_leases


def convert_instance(
    *, renter: User, instance_id: UUID, quote_id: UUID, expected: Expected = ANYTHING, auto_renew: bool = False
) -> Instance:
    """Apply a quoted change to an instance, or raise and change nothing.

    Raises IllegalTransition, QuoteExpired, QuoteUsed, QuoteMismatch, PriceChanged, InsufficientFunds or StaleRow.
    """
    with use_case():
        instance, quote = claim_change(renter=renter, instance_id=instance_id, quote_id=quote_id, expected=expected)
        before, old_rate = instance.billing_mode, instance.rate_micros_per_hour
        check_change(instance, quote.billing_mode)
        from_term = _leave_mode(instance)
        fields = gpu_terms(quote)
        for name, value in fields.items():
            setattr(instance, name, value)
        _enter_mode(instance, quote, fields, from_term=from_term, auto_renew=auto_renew)
        update_locked_columns(instance, **fields)
        detail = f"{before} → {quote.billing_mode}"
        record_event(instance, kind="converted", actor=RENTER, detail=ModeChanged(before=before, after=quote.billing_mode))
        if quote.billing_mode != RESERVED:
            _record(instance, quote, detail, old_rate)
        touch_renter(instance)
    return instance


def extend_instance(
    *,
    renter: User,
    instance_id: UUID,
    quote_id: UUID | None = None,
    auto_renew: bool | None = None,
    expected: Expected = ANYTHING,
) -> Instance:
    """Renew the running term ahead with a quote, or set whether it is renewed automatically, or both.

    The next term begins when the present one ends. Raises IllegalTransition and what `convert_instance` raises.
    """
    with use_case():
        if quote_id is None:
            instance = _lock(renter, instance_id)
        else:
            instance, quote = claim_change(renter=renter, instance_id=instance_id, quote_id=quote_id, expected=expected)
            check_change(instance, quote.billing_mode)
            _renew_ahead(instance, quote)
        check_action(instance, "extend")
        if auto_renew is not None:
            set_auto_renew(instance, auto_renew)
        touch_renter(instance)
    return instance


def claim_change(*, renter: User, instance_id: UUID, quote_id: UUID, expected: Expected) -> tuple[Instance, Quote]:
    """Lock the wallets, then return the instance as it is now, with its quote marked as used."""
    instance = _lock(renter, instance_id)
    quote = claim_quote(renter, quote_id, for_instance=instance.pk)
    check_match(quote, expected)
    if instance.offer.version != quote.offer_version:
        raise PriceChanged("The offer's price has changed; request a new quote.", offer_version=instance.offer.version)
    check_action(instance, "convert")
    return instance, quote


def set_auto_renew(instance: Instance, wanted: bool) -> None:
    changed = Term.objects.filter(instance_id=instance.pk, state__in=["active", "next"]).exclude(auto_renew=wanted)
    if changed.update(auto_renew=wanted):
        record_event(instance, kind="auto_renew_on" if wanted else "auto_renew_off", actor=RENTER)


def _lock(renter: User, instance_id: UUID) -> Instance:
    found = instance_of(renter, instance_id)
    lock_parties(renter_id=renter.pk, host_owner_id=payee_of(found))
    return instance_of(renter, instance_id)


def _leave_mode(instance: Instance) -> bool:
    """Settle the present mode and return whether it was reserved; the GPUs stay leased."""
    if instance.billing_mode == RESERVED:
        return end_terms_early(instance, actor=RENTER)
    if instance.state == InstanceState.RUNNING:
        close_use(instance.pk)
    if instance.billing_mode == SPOT:
        leave_spot(instance=instance)
    return False


def _enter_mode(instance: Instance, quote: Quote, fields: dict[str, Any], *, from_term: bool, auto_renew: bool) -> None:
    """Hold or charge money for the new mode.

    Columns of the instance that change beside the prices are added to `fields`.
    """
    now = clock.now()
    runs = instance.state == InstanceState.RUNNING
    if quote.billing_mode == RESERVED:
        term = create_term(
            instance=instance, quote=quote, list_unit_micros=instance.offer.price_micros, auto_renew=auto_renew
        )
        if instance.holds_gpus:
            close_kept_gpus(instance.pk, at=now)
            fields["release_at"] = None
        if runs or instance.holds_gpus:  # otherwise the term begins with the next run, when GPUs are leased
            start_term(term, instance, at=now, payee_id=payee_of(instance))
        record_term(instance, term, kind="term")
    elif runs:
        hold_for_use(instance)
        # The meter of a run that goes on begins where the last one was proven to; `open_use` reads that moment.
        begins = now if from_term or instance.started_at is None else instance.started_at
        open_use(instance, at=begins, payee_id=payee_of(instance), continuous=False)
    elif from_term and instance.holds_gpus:
        if release_leases(holder=instance.pk, reason="term ended early"):
            hint_waiting()
        fields |= {"holds_gpus": False, "release_at": now + RETENTION}
        touch_host(instance)


def _renew_ahead(instance: Instance, quote: Quote) -> None:
    term = create_term(
        instance=instance,
        quote=quote,
        list_unit_micros=instance.offer.price_micros,
        auto_renew=_renews(instance),
        ahead=True,
    )
    record_term(instance, term, kind="renewal")
    record_event(instance, kind="renewed_ahead", actor=RENTER)


def _renews(instance: Instance) -> bool:
    return Term.objects.filter(instance_id=instance.pk, state="active", auto_renew=True).exists()


def _record(instance: Instance, quote: Quote, detail: str, old_rate: int) -> None:
    record_order(
        owner_id=instance.renter_id,
        kind="conversion",
        key=f"conversion:{quote.pk.hex}",
        source_kind=INSTANCE_SOURCE,
        source_id=instance.pk,
        title=f"{instance.name}: {detail}",
        billing_mode=quote.billing_mode or HOURLY,
        rate_micros_per_hour=instance.rate_micros_per_hour,
    )
