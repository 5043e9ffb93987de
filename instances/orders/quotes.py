"""Quotes: signed all-in prices for one order, checked against the offer and valid for ten minutes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from hmac import compare_digest
from typing import TYPE_CHECKING, Final
from uuid import UUID

from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from accounts.models import User
from billing.pricing.estimates import HOURLY, NO_UPFRONT, RESERVED, SPOT, UPFRONT, Estimate, Line, Plan, Work, estimate
from billing.pricing.rates import deposit_of, hold_for, hold_of
from billing.pricing.tariffs import Tariff
from common import clock
from common.db.transactions import use_case
from common.errors import FieldError, wrong_field
from common.money import format_money
from instances.access.guards import check_allow_list_of_order
from instances.constants import NO_UPFRONT_HOURS_MIN, QUOTE_HOURS_MAX, QUOTE_LIFETIME
from instances.core.selectors import quote_of
from instances.errors import DiskTooLarge
from instances.launch.settings import EMPTY, LaunchSettings, digest
from instances.launch.store import save_launch, settings_of
from instances.launch.templates import OrderTemplate, agreed_template
from instances.models import Quote
from instances.orders.image_compatibility import check_image_fits
from instances.orders.launch_compatibility import check_launch
from instances.orders.template_fit import check_template_fits, check_template_image
from instances.pricing.price_plans import disk_line, offer_plan, offer_plans, plain_number, terms_of
from instances.spot.bids import check_bidder
from marketplace.constants import DATA_DISK_GB_MAX, FREE_DATA_DISK_GB
from marketplace.errors import GpuTaken, OfferClosed, PriceChanged
from marketplace.leasing.offer_selectors import OfferView, offer_view
from marketplace.pricing.offer_requirements import has_system_disk, needs_of
from marketplace.pricing.prices import TERM_HOURS, disk_micros_per_hour
from marketplace.states import HostState
from storage.images.selectors import find_image

if TYPE_CHECKING:
    from storage.models import Image

__all__ = ["HOURLY", "QuoteRequest", "create_quote", "draft_quote", "plan_of", "renew_quote"]

_PAYMENTS: Final = (UPFRONT, NO_UPFRONT)


@dataclass(frozen=True)
class QuoteRequest:
    """Billing mode with its options, and how many hours the projection covers."""

    billing_mode: str
    term: str
    payment: str
    max_price_micros: int | None
    hours: int


def create_quote(
    *,
    renter: User,
    offer_id: UUID,
    image: str,
    gpu_count: int = 1,
    billing_mode: str = HOURLY,
    data_disk_gb: int = 0,
    hours: int | None = None,
    term: str = "",
    payment: str = "",
    max_price_micros: int | None = None,
    launch: LaunchSettings = EMPTY,
    template: OrderTemplate | None = None,
    networks: Sequence[str] = (),
) -> Quote:
    """Create a quote at the offer's present version.

    `image` is a slug or a public id. `hours` is what the projection covers: by default the whole term, else one hour.
    `term` and `payment` belong to reserved quotes, `max_price_micros` (per GPU and hour) to spot. The order
    runs with the settings in `launch`, and the price does not depend on them; `template` is what they come from, and
    its minimums are checked here. `networks` are those that SSH is to be restricted to once it is rented. Raises
    NotFound, InvalidInput, TemplateImageChanged, TemplateUnfit, DiskTooLarge, LaunchUnsupported, AllowListNotEnforced,
    BidBarred, OfferClosed or GpuTaken.
    """
    offer, chosen = offer_view(offer_id), find_image(image, renter)
    payment = payment or (UPFRONT if billing_mode == RESERVED else "")
    hours = hours if hours is not None else TERM_HOURS.get(term, 1)
    request = QuoteRequest(billing_mode, term, payment, max_price_micros, hours)
    plan = plan_of(offer, request)
    if billing_mode == SPOT:
        check_bidder(renter_id=renter.pk, host_owner_id=offer.owner_id)
    check_offer(offer, chosen, gpu_count=gpu_count, data_disk_gb=data_disk_gb, billing_mode=billing_mode, hours=hours)
    check_template_image(template, chosen)
    check_template_fits(template, offer)
    check_launch(launch, host_id=offer.host_id, ram_mb=offer.ram_mb_per_gpu * gpu_count)
    check_allow_list_of_order(offer.host_id, networks)
    quote = draft_quote(offer, request, plan, gpu_count=gpu_count, data_disk_gb=data_disk_gb)
    quote.renter, quote.image = renter, chosen
    if template is not None:
        quote.template_version, quote.template = template.version_id, template.agreed
    with use_case():
        quote.launch = save_launch(renter, launch)
        quote.save(force_insert=True)
    return quote


def renew_quote(*, renter: User, quote_id: UUID, **changes: object) -> Quote:
    """Create a quote like an earlier one, with changes, at the present price."""
    old = quote_of(renter, quote_id)
    values: dict[str, object] = {
        "offer_id": old.offer_id,
        "image": old.image.slug,
        "gpu_count": old.gpu_count,
        "billing_mode": old.billing_mode,
        "data_disk_gb": old.data_disk_gb,
        "hours": old.hours,
        "term": old.term,
        "payment": old.payment,
        "max_price_micros": old.max_price_micros,
        "template": agreed_template(old.template_version, old.template),
    }
    if "launch" not in changes:
        values["launch"] = settings_of(old.launch)
    return create_quote(renter=renter, **{**values, **changes})  # type: ignore[arg-type]  # names of create_quote


def quote_with_launch(*, renter: User, quote_id: UUID, launch: LaunchSettings) -> Quote:
    """Return the quote if it has these launch settings, else a new one like it that has.

    Raises PriceChanged if that one costs more.
    """
    old = quote_of(renter, quote_id)
    if compare_digest(digest(launch), old.launch.digest if old.launch else ""):
        return old
    new = renew_quote(renter=renter, quote_id=quote_id, launch=launch)
    if new.rate_micros_per_hour > old.rate_micros_per_hour or new.due_now_micros > old.due_now_micros:
        raise PriceChanged(f"The price is now {format_money(new.rate_micros_per_hour)} per hour.")
    return new


# Checks of a request.


def check_offer(
    offer: OfferView, image: "Image", *, gpu_count: int, data_disk_gb: int, billing_mode: str = HOURLY, hours: int = 1
) -> None:
    """Raise InvalidInput, DiskTooLarge, OfferClosed or GpuTaken if the offer does not allow the order."""
    _check_size(offer, gpu_count, hours)
    _check_disk(offer, data_disk_gb)
    check_image_fits(offer, image, data_disk_gb=data_disk_gb)
    _check_open(offer, gpu_count, billing_mode)


def plan_of(offer: OfferView, request: QuoteRequest) -> Plan:
    """Return the offer's price plan in the requested mode, or raise InvalidInput.

    An option that belongs to another mode is refused, never ignored.
    """
    if request.billing_mode not in offer_plans(offer, term=_any_term(offer)):
        sold = ", ".join(offer_plans(offer, term=_any_term(offer)))
        raise wrong_field(
            "billing_mode",
            _("This offer doesn't have the billing mode %(mode)s. Choose from: %(sold)s.")
            % {"mode": request.billing_mode, "sold": sold},
        )
    _check_options_of_other_modes(request)
    if request.billing_mode == RESERVED:
        _check_term(offer, request)
    plan = offer_plan(offer, request.billing_mode, term=request.term, payment=request.payment)
    if plan is None:
        raise wrong_field(
            "term", _("This offer has these terms: %(terms)s.") % {"terms": ", ".join(offer.reserved_discounts)}
        )
    if plan.mode == SPOT:
        plan = _within_bid(offer, plan, request.max_price_micros)
    return plan


def _any_term(offer: OfferView) -> str:
    return next(iter(offer.reserved_discounts), "")


def _check_options_of_other_modes(request: QuoteRequest) -> None:
    if request.billing_mode != RESERVED and (request.term or request.payment):
        raise wrong_field("term" if request.term else "payment", _("Term and payment apply only to reserved billing."))
    if request.billing_mode != SPOT and request.max_price_micros is not None:
        raise wrong_field("max_price", _("A max price applies only to spot."))


def _check_term(offer: OfferView, request: QuoteRequest) -> None:
    if request.term not in offer.reserved_discounts:
        raise wrong_field(
            "term", _("This offer has these terms: %(terms)s.") % {"terms": ", ".join(offer.reserved_discounts)}
        )
    if request.payment not in _PAYMENTS:
        raise wrong_field("payment", _("Choose one of: %(options)s.") % {"options": ", ".join(_PAYMENTS)})
    if request.payment == NO_UPFRONT and TERM_HOURS[request.term] < NO_UPFRONT_HOURS_MIN:
        raise wrong_field("payment", _("Terms under 30 days are paid upfront."))
    if request.term not in terms_of(offer):
        raise wrong_field(
            "term",
            _("The host is available through %(until)s UTC. Choose a shorter term.")
            % {"until": f"{offer.listed_until:%Y-%m-%d %H:%M}"},
        )


def _within_bid(offer: OfferView, plan: Plan, max_price_micros: int | None) -> Plan:
    """Return the plan at the market's present price; a lower bid waits, and pays at most its maximum."""
    floor = offer.spot_floor_micros or 0
    if max_price_micros is None or max_price_micros < floor:
        raise wrong_field(
            "max_price", _("Enter a max price per GPU-hour of %(floor)s or more.") % {"floor": format_money(floor)}
        )
    return replace(plan, unit_micros=min(plan.unit_micros, max_price_micros))


def _check_size(offer: OfferView, gpu_count: int, hours: int) -> None:
    if not 1 <= gpu_count <= offer.gpu_total:
        raise wrong_field("gpu_count", _("Choose 1 to %(most)s GPUs.") % {"most": offer.gpu_total})
    if not 1 <= hours <= QUOTE_HOURS_MAX:
        raise wrong_field("hours", _("Choose 1 to %(most)s hours.") % {"most": QUOTE_HOURS_MAX})


def _check_disk(offer: OfferView, data_disk_gb: int) -> None:
    if data_disk_gb < 0:
        raise wrong_field("data_disk_gb", _("Enter a size of 0 GB or more."))
    if not has_system_disk(system_disk_gb=offer.system_disk_gb, disk_free_gb=offer.disk_free_gb):
        raise DiskTooLarge(f"The host doesn't have enough space for another system disk of {offer.system_disk_gb} GB.")
    needs = needs_of(gpu_count=1, data_disk_gb=data_disk_gb)
    if data_disk_gb > DATA_DISK_GB_MAX or not needs.disk_suffices(offer.disk_free_gb):
        limit = min(DATA_DISK_GB_MAX, offer.disk_free_gb)
        detail = _("The data disk can have at most %(most)s GB on this host.") % {"most": limit}
        raise DiskTooLarge(detail, errors=[FieldError("data_disk_gb", DiskTooLarge.code, detail)])


def check_image(offer: OfferView, image: "Image") -> None:
    """Raise what `check_image_fits` raises if the image cannot run on the host of an existing instance."""
    check_image_fits(offer, image, data_disk_gb=0)


def _check_open(offer: OfferView, gpu_count: int, mode: str) -> None:
    if not offer.listed or offer.draining or offer.host_state != HostState.ONLINE:
        raise OfferClosed("This offer isn't open for new rentals right now. Choose another one.")
    free = offer.gpu_free + offer.gpu_spot  # spot rents are stopped for any other order
    if mode != SPOT and not needs_of(gpu_count=gpu_count, data_disk_gb=0).gpus_suffice(free):
        raise GpuTaken(f"{gpu_count} GPUs requested, {free} are free.")


# Prices.


def draft_quote(offer: OfferView, request: QuoteRequest, plan: Plan, *, gpu_count: int, data_disk_gb: int) -> Quote:
    now: datetime = clock.now()
    use = estimate(plan, Work(Fraction(request.hours), gpu_count))
    disk = disk_line(offer, data_disk_gb=data_disk_gb, hours=Fraction(request.hours))
    disk_rate = disk_micros_per_hour(disk_micros_gb_day=offer.disk_micros_gb_day, data_disk_gb=data_disk_gb)
    return Quote(
        offer_id=offer.id,
        offer_version=offer.version,
        billing_mode=request.billing_mode,
        gpu_count=gpu_count,
        data_disk_gb=data_disk_gb,
        system_disk_gb=offer.system_disk_gb,
        hours=request.hours,
        term=request.term,
        payment=request.payment,
        max_price_micros=request.max_price_micros,
        rate_micros_per_hour=plan.unit_micros * gpu_count + disk_rate,
        due_now_micros=_due_now(plan, use, gpu_count, request.max_price_micros) + _disk_hold(offer, data_disk_gb),
        projected_micros=use.total_micros + (disk.amount_micros if disk else 0),
        committed_micros=use.commitment_micros,
        lines=_lines(offer, use, disk, data_disk_gb),
        created_at=now,
        expires_at=now + QUOTE_LIFETIME,
    )


def _disk_hold(offer: OfferView, data_disk_gb: int) -> int:
    """Return the hold for one hour of the disk above the free quota, in micro-units."""
    paid_gb = max(0, data_disk_gb - FREE_DATA_DISK_GB)
    return hold_of(Tariff(offer.disk_micros_gb_day * paid_gb, hours=24))


def _due_now(plan: Plan, use: Estimate, gpu_count: int, max_price_micros: int | None) -> int:
    """Return the money due at the order: the whole term if paid upfront, else one hour.

    For a spot rent it is an hour at the maximum; a term that is paid by the hour adds its deposit.
    """
    if plan.mode == RESERVED and plan.payment == UPFRONT and use.commitment_micros is not None:
        return use.commitment_micros
    rate = (max_price_micros or plan.unit_micros) * gpu_count
    deposit = deposit_of(rate_micros=rate, total_micros=use.commitment_micros or 0) if plan.mode == RESERVED else 0
    return hold_for(rate) + deposit


def _lines(offer: OfferView, use: Estimate, disk: Line | None, data_disk_gb: int) -> list[dict[str, str]]:
    lines = [line_of(line, offer.gpu_name) for line in use.lines]
    if offer.system_disk_gb:
        lines.append(line_of(Line("System disk", Fraction(offer.system_disk_gb), "GB", 0, 0)))
    if data_disk_gb:
        lines.append(line_of(Line("Data disk", Fraction(min(data_disk_gb, FREE_DATA_DISK_GB)), "GB", 0, 0)))
    return [*lines, line_of(disk)] if disk else lines


def line_of(line: Line, item: str = "") -> dict[str, str]:
    return {
        "item": item or line.item,
        "quantity": plain_number(line.quantity),
        "unit": line.unit,
        "unit_price": format_money(line.unit_micros),
        "amount": format_money(line.amount_micros),
    }


# The signature, with which a client can prove that the terms are the market's.

_SALT = "berth.quote.1"
_SIGNED = (
    *("offer_version", "image_id", "billing_mode", "gpu_count", "data_disk_gb", "hours", "term", "payment"),
    *("max_price_micros", "rate_micros_per_hour", "due_now_micros", "projected_micros", "committed_micros", "lines"),
    "for_instance_id",
)


def quote_signature(quote: Quote) -> str:
    """Return the HMAC-SHA256 over all terms of the quote, its owner and its expiry."""
    terms = [quote.pk.hex, quote.renter_id.hex, quote.offer_id.hex, int(quote.expires_at.timestamp() * 1_000_000)]
    text = json.dumps([*terms, *(getattr(quote, name) for name in _SIGNED)], sort_keys=True, default=str)
    launch = quote.launch.digest if quote.launch else ""  # added only if there is one, so that older signatures hold
    template = quote.template_version.hex if quote.template_version else ""
    return salted_hmac(_SALT, text + launch + template, algorithm="sha256").hexdigest()
