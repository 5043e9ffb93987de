"""Search, order and hold of a wait-list entry."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from uuid import UUID

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.selectors import ssh_keys_of
from billing.pricing.rates import hold_for
from common import clock
from common.errors import FieldError, InvalidInput
from common.money import MICROS_PER_UNIT
from instances.constants import WATCH_LONGEST, WATCH_MAX_PRICE_MICROS, WATCH_OFFERS_TRIED, WATCH_SHORTEST
from instances.models import Watch
from instances.orders.quotes import HOURLY
from instances.states import WatchAction
from marketplace.constants import DATA_DISK_GB_MAX, FREE_DATA_DISK_GB
from marketplace.pricing.offer_requirements import NO_IMAGE
from marketplace.search.language.fields import Condition, OfferQuery, Op
from marketplace.search.language.parser import parse_line, write_line
from storage.images.selectors import find_image, needs_of_image

if TYPE_CHECKING:
    from storage.models import Image

_LINE_CHARS: Final = 500


@dataclass(frozen=True)
class EntryOrder:
    """Order of a `rent` entry, which also narrows a `tell` entry.

    An image or disk of None is taken from the search line.
    """

    image: str = ""
    max_price_micros: int | None = None
    data_disk_gb: int | None = None
    ssh_key_ids: Sequence[UUID] | None = None
    name: str = ""


def draft_entry(*, user: User, line: str, action: str, order: EntryOrder, lifetime: timedelta) -> Watch:
    """Return the checked entry that `create_entry` would write; nothing is written or held."""
    query = parse_line(line)
    slug = order.image or query.image
    image = find_image(slug, user) if slug else None
    disk_gb = query.data_disk_gb if order.data_disk_gb is None else order.data_disk_gb
    _check_options(query, order.max_price_micros, disk_gb, lifetime)
    if action == WatchAction.RENT:
        _check_order(query, image, order.max_price_micros, disk_gb)
        ssh_keys_of(user, order.ssh_key_ids)
    now = clock.now()
    return Watch(
        user=user,
        line=_canonical(query),
        action=action,
        gpu_count=query.gpu_count,
        max_price_micros=order.max_price_micros,
        image=image,
        data_disk_gb=disk_gb,
        ssh_key_ids=None if order.ssh_key_ids is None else list(order.ssh_key_ids),
        name=order.name,
        language=get_language() or "en",
        created_at=now,
        expires_at=now + lifetime,
    )


def highest_cost(watch: Watch) -> int:
    """Return one hour of all GPUs at the highest accepted price, in micro-units.

    So much is held, and the order never costs more.
    """
    return hold_for((watch.max_price_micros or 0) * watch.gpu_count)


def query_of(watch: Watch) -> OfferQuery:
    """Return the search of an entry: its line, its highest price and what its order needs."""
    query = _parse_cached(watch.line)
    own = list(query.conditions)
    if watch.max_price_micros is not None:
        own.append(Condition("price", Op.LE, Decimal(watch.max_price_micros) / MICROS_PER_UNIT))
    if watch.data_disk_gb:
        own.append(Condition("disk_free", Op.GE, Decimal(watch.data_disk_gb)))
    return replace(
        query,
        conditions=tuple(own),
        gpu_count=watch.gpu_count,
        data_disk_gb=watch.data_disk_gb,
        image=watch.image.slug if watch.image else "",
        image_needs=needs_of_image(watch.image) if watch.image else NO_IMAGE,
        limit=WATCH_OFFERS_TRIED,
        cursor=None,
    )


@lru_cache(maxsize=4096)
def _parse_cached(line: str) -> OfferQuery:
    """Parse a search line; cached, since each pass parses all waiting lines, many of which are equal."""
    return parse_line(line)


def _check_options(query: OfferQuery, max_price_micros: int | None, disk_gb: int, lifetime: timedelta) -> None:
    if not WATCH_SHORTEST <= lifetime <= WATCH_LONGEST:
        raise _wrong("expires_in_hours", _("Choose 1 hour to 30 days."))
    if max_price_micros is not None and not 0 < max_price_micros <= WATCH_MAX_PRICE_MICROS:
        raise _wrong("max_price", _("Enter a price per GPU-hour above 0 and up to 10,000."))
    if not 0 <= disk_gb <= DATA_DISK_GB_MAX:
        raise _wrong("data_disk_gb", _("Choose 0 to %(most)s GB.") % {"most": DATA_DISK_GB_MAX})


def _check_order(query: OfferQuery, image: "Image | None", max_price_micros: int | None, disk_gb: int) -> None:
    if query.billing_mode != HOURLY:
        raise _wrong("q", _("The waitlist supports on-demand only. Remove the billing mode from the search."))
    if image is None:
        raise _wrong("image", _("Choose an image."), code="required")
    if max_price_micros is None:
        raise _wrong("max_price", _("Enter your max price per GPU-hour."), code="required")
    if disk_gb > FREE_DATA_DISK_GB:
        raise _wrong(
            "data_disk_gb",
            _("The waitlist supports data disks of up to %(most)s GB.") % {"most": FREE_DATA_DISK_GB},
            code="too_large",
        )


def _canonical(query: OfferQuery) -> str:
    line = write_line(query)
    if len(line) > _LINE_CHARS:
        raise _wrong("q", _("The search is too long (at most %(most)s characters).") % {"most": _LINE_CHARS})
    return line


def _wrong(name: str, detail: str, *, code: str = "invalid") -> InvalidInput:
    return InvalidInput(detail, errors=[FieldError(name, code, detail)])
