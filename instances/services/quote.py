"""Quotes: an all-in price for one order, checked against the offer and good for ten minutes."""

from typing import TYPE_CHECKING
from uuid import UUID

from accounts.models import User
from billing.pricing import hold_for
from common import clock
from common.database import use_case
from common.errors import FieldError, InvalidInput
from common.money import format_money
from instances.errors import DiskTooLarge
from instances.models import Quote
from instances.policy import QUOTE_HOURS_MAX, QUOTE_LIFETIME
from instances.selectors import quote_of
from marketplace.errors import GpuTaken, OfferClosed
from marketplace.policy import FREE_DATA_DISK_GB
from marketplace.selectors import OfferView, offer_view
from marketplace.states import HostState
from storage.selectors import find_image

if TYPE_CHECKING:
    from storage.models import Image

HOURLY = "hourly"


def create_quote(
    *,
    renter: User,
    offer_id: UUID,
    image: str,
    gpu_count: int = 1,
    billing_mode: str = HOURLY,
    data_disk_gb: int = 0,
    hours: int = 1,
) -> Quote:
    """What this would cost, held to the offer's present version. `image` is a slug or a public id.

    Raises NotFound, InvalidInput, DiskTooLarge, OfferClosed or GpuTaken.
    """
    offer, chosen = offer_view(offer_id), find_image(image)
    _check_wishes(offer, gpu_count, billing_mode, hours)
    _check_disk(offer, data_disk_gb)
    _check_cuda(offer, chosen)
    _check_open(offer, gpu_count)
    now, rate = clock.now(), offer.price_micros * gpu_count
    with use_case():
        return Quote.objects.create(
            renter=renter,
            offer_id=offer.id,
            offer_version=offer.version,
            image=chosen,
            billing_mode=billing_mode,
            gpu_count=gpu_count,
            data_disk_gb=data_disk_gb,
            hours=hours,
            rate_micros_per_hour=rate,
            due_now_micros=hold_for(rate),
            projected_micros=hold_for(rate, hours),
            lines=_lines(offer, gpu_count, hours, data_disk_gb),
            created_at=now,
            expires_at=now + QUOTE_LIFETIME,
        )


def quote_again(*, renter: User, quote_id: UUID) -> Quote:
    """The same wishes at the present price."""
    old = quote_of(renter, quote_id)
    return create_quote(
        renter=renter,
        offer_id=old.offer_id,
        image=old.image.slug,
        gpu_count=old.gpu_count,
        billing_mode=old.billing_mode,
        data_disk_gb=old.data_disk_gb,
        hours=old.hours,
    )


def _check_wishes(offer: OfferView, gpu_count: int, billing_mode: str, hours: int) -> None:
    if billing_mode != HOURLY:
        raise _wrong("billing_mode", "Only hourly is offered so far.")
    if not 1 <= gpu_count <= offer.gpu_total:
        raise _wrong("gpu_count", f"Choose 1 to {offer.gpu_total} GPUs of this offer.")
    if not 1 <= hours <= QUOTE_HOURS_MAX:
        raise _wrong("hours", f"Choose 1 to {QUOTE_HOURS_MAX} hours.")


def _check_disk(offer: OfferView, data_disk_gb: int) -> None:
    limit = min(FREE_DATA_DISK_GB, offer.disk_free_gb)
    if data_disk_gb < 0:
        raise _wrong("data_disk_gb", "A disk cannot be smaller than nothing.")
    if data_disk_gb > limit:
        detail = f"The data disk can have at most {limit} GB here."
        raise DiskTooLarge(detail, errors=[FieldError("data_disk_gb", DiskTooLarge.code, detail)])


def _check_cuda(offer: OfferView, image: "Image") -> None:
    if image.cuda and _version(offer.cuda) < _version(image.cuda):
        has = offer.cuda or "none"
        raise _wrong("image", f"The image needs CUDA {image.cuda}; the driver of this offer's host supports {has}.")


def _check_open(offer: OfferView, gpu_count: int) -> None:
    if not offer.listed or offer.draining or offer.host_state != HostState.ONLINE:
        raise OfferClosed("This offer takes no new rents at the moment. Choose another one.")
    if offer.gpu_free < gpu_count:
        raise GpuTaken(f"{gpu_count} GPUs were asked for, {offer.gpu_free} are free.")


def _lines(offer: OfferView, gpu_count: int, hours: int, data_disk_gb: int) -> list[dict[str, str]]:
    lines = [_line(offer.gpu_name, gpu_count * hours, "GPU-hour", offer.price_micros)]
    if data_disk_gb:
        lines.append(_line("Data disk", data_disk_gb, "GB", 0))
    return lines


def _line(item: str, quantity: int, unit: str, price_micros: int) -> dict[str, str]:
    return {
        "item": item,
        "quantity": str(quantity),
        "unit": unit,
        "unit_price": format_money(price_micros),
        "amount": format_money(price_micros * quantity),
    }


def _wrong(field: str, detail: str) -> InvalidInput:
    return InvalidInput(detail, errors=[FieldError(field, "invalid", detail)])


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())
