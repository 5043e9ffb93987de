"""Creates: each rents an ask at the price that the search has shown, and a repetition rents nothing more."""

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from accounts.models import User
from common import clock
from common.db.transactions import joining
from common.encryption import derived_key
from common.errors import NotFound
from common.ids import public_id
from common.money import MICROS_PER_UNIT, format_money
from instances.core.endpoints import container_ports
from instances.launch.settings import LaunchSettings, validate
from instances.launch.templates import OrderTemplate, find_template, settings_with
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from instances.states import ENDING, InstanceState
from marketplace.errors import GpuTaken, OfferClosed, PriceChanged
from marketplace.leasing.offer_selectors import OfferView, offer_view
from marketplace.pricing.prices import all_in_micros
from storage.errors import VolumeElsewhere
from vast.asks.asks import HOURLY, SPOT, ask_of
from vast.constants import CREATES_KEPT, REPEATED_WITHIN
from vast.create.bodies import Wanted
from vast.create.images import image_named
from vast.errors import AskGone, InvalidPrice
from vast.models import Ask, SentCreate
from vast.variables.variables import variables_for

if TYPE_CHECKING:
    from instances.models import Instance, Quote
    from storage.models import Image

_PURPOSE: Final = "berth-vast-create-v1"
_TEMPLATE_HEX: Final = 32
# Instead of the program of an image without SSH of its own: clients that connect expect the container to stay.
_STAYS: Final = ["/bin/sh", "-c", "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"]


@dataclass(frozen=True)
class Program:
    """What a create runs: the image, and the template that it starts from."""

    image: "Image"
    template: OrderTemplate | None


def program_of(renter: User, wanted: Wanted) -> Program:
    """Find the image and the template that a create names; ask the registry once, however many asks are rented.

    Call it outside transactions. Raises what `image_named` raises, and NotFound for a template.
    """
    template = find_template(renter, template_text(wanted.template)) if wanted.template else None
    text = wanted.image or (template.image if template else "")
    return Program(image_named(renter=renter, text=text, login=wanted.login), template)


def create_from_ask(
    *,
    renter: User,
    credential: UUID,
    number: int,
    body: Mapping[str, Any],
    wanted: Wanted,
    program: "Program",
    volume_ids: tuple[UUID, ...] = (),
    sent_to: str = "",
) -> "Instance":
    """Rent an ask; the same body again within five minutes returns the instance that it made.

    `credential` is the token's id: what another token sends is another order. `sent_to` is what the request named
    instead of the ask, where that is found anew each time. Raises NoSuchAsk, AskGone where the GPUs
    or the price are not what was searched, InvalidPrice, InsufficientFunds, and what quotes refuse.
    """
    ask = ask_of(number)
    digest = _digest(credential, sent_to or str(number), body)
    with _as_asks_end(), joining():
        sent = _claim(renter, digest)
        if sent.instance is not None and _is_repeated(sent):
            sent.at = clock.now()
            sent.save(update_fields=["at"])
            return sent.instance
        quote = _quote(renter, ask, wanted, program)
        own = container_ports(program.image)
        rented = rent_instance(
            renter=renter,
            quote_id=quote.pk,
            name=wanted.label,
            extra_ports=[port for port in wanted.ports if port not in own],
            udp_ports=[port for port in wanted.udp_ports if port not in own],
            volume_ids=volume_ids,
        )
        sent.instance, sent.at = rented, clock.now()
        sent.save(update_fields=["instance", "at"])
    return rented


def made_before(*, renter: User, credential: UUID, sent_to: str, body: Mapping[str, Any]) -> "Instance | None":
    """Return the instance that the same create has made within five minutes, if there is one."""
    digest = _digest(credential, sent_to, body)
    sent = SentCreate.objects.filter(user=renter, digest=digest, instance__isnull=False).first()
    return sent.instance if sent is not None and _is_repeated(sent) else None


def forget_creates() -> int:
    """Delete creates that can't be repeated any more, and return their number: a sweep."""
    return SentCreate.objects.filter(at__lt=clock.now() - CREATES_KEPT).delete()[0]


def template_text(hash_id: str) -> str:
    """Return how this market names the version of a template that a `hash_id` stands for."""
    return f"{public_id('tmpl', UUID(hex=hash_id[:_TEMPLATE_HEX]))}@{hash_id[_TEMPLATE_HEX:]}"


def template_hash(public: str, version: str) -> str:
    """Return the `hash_id` of a template's version from its public id and the beginning of its content hash."""
    return public.partition("_")[2] + version


def bid_micros(offer: OfferView, *, bid: float, gpu_count: int, without_bid: int) -> int:
    """Return the maximum per GPU and hour of a bid for all GPUs together.

    0 bids `without_bid`, the on-demand price: what is paid is the spot price. Raises InvalidPrice for a bid below the
    floor.
    """
    if bid == 0:
        return without_bid
    micros = round(bid * MICROS_PER_UNIT) // gpu_count
    if offer.spot_floor_micros is not None and micros < offer.spot_floor_micros:
        least = format_money(offer.spot_floor_micros * gpu_count)
        raise InvalidPrice(f"price: Bid {least} an hour or more for these {gpu_count} GPUs.")
    return micros


@contextmanager
def _as_asks_end() -> Iterator[None]:
    """Tell clients in their words that an ask can't be had any more."""
    try:
        yield
    except (GpuTaken, OfferClosed, PriceChanged) as error:
        raise AskGone(f"{error.detail} Search again.") from error
    except VolumeElsewhere as error:
        raise VolumeElsewhere(
            "The linked volume is on another machine, where it stays for a bid. Search with machine_id=NUMBER, as "
            "`vastai show volumes` says, or rent on demand: then it is moved first."
        ) from error


def _quote(renter: User, ask: Ask, wanted: Wanted, program: Program) -> "Quote":
    try:
        offer = offer_view(ask.offer_id)
    except NotFound as error:
        raise AskGone("The offer is gone. Search again.") from error
    bid = wanted.bid if wanted.bid is not None else (0.0 if ask.mode == SPOT else None)
    if bid is not None and offer.spot_floor_micros is None:
        raise AskGone("This offer takes no bids. Search with --type bid.")
    without_bid = min(ask.price_micros, offer.price_micros)
    most = None if bid is None else bid_micros(offer, bid=bid, gpu_count=ask.gpu_count, without_bid=without_bid)
    if most is not None and offer.spot_floor_micros is not None and most < offer.spot_floor_micros:
        raise AskGone("The least bid rose above the price that was searched. Search again.")
    quote = create_quote(
        renter=renter,
        offer_id=ask.offer_id,
        image=program.image.slug,
        gpu_count=ask.gpu_count,
        billing_mode=HOURLY if most is None else SPOT,
        data_disk_gb=wanted.disk_gb,
        max_price_micros=most,
        launch=_settings(renter, wanted, program),
        template=program.template,
    )
    _check_price(quote, ask, most)
    return quote


def launch_of(wanted: Wanted, image: "Image") -> dict[str, Any]:
    """Return the launch settings of a body, with a program that stays where the image's own is not to run."""
    stays = {"entrypoint": _STAYS[:1], "command": _STAYS[1:]} if wanted.replaces_program and not image.has_ssh else {}
    return {**wanted.launch, **stays}


def _settings(renter: User, wanted: Wanted, program: Program) -> LaunchSettings:
    image, template = program.image, program.template
    launch = dict(wanted.launch) if template and template.settings.entrypoint else launch_of(wanted, image)
    named = {*wanted.launch["env"], *(template.settings.env if template else ())}
    own = validate({**launch, "secrets": variables_for(renter, without=named)})
    return own if template is None else settings_with(template, {}, own)


def _check_price(quote: "Quote", ask: Ask, most: int | None) -> None:
    """Refuse a quote above the searched price; a bid is its own limit, and only its disk is compared."""
    unit = ask.price_micros if most is None else 0
    listed = all_in_micros(
        unit_micros=unit,
        disk_micros_gb_day=ask.disk_micros_gb_day,
        data_disk_gb=quote.data_disk_gb,
        gpu_count=quote.gpu_count,
    )[1]
    now = quote.rate_micros_per_hour
    if most is not None:
        now = all_in_micros(
            unit_micros=0,
            disk_micros_gb_day=quote.offer.disk_micros_gb_day,
            data_disk_gb=quote.data_disk_gb,
            gpu_count=quote.gpu_count,
        )[1]
    if now > listed:
        raise AskGone(f"The price rose from {format_money(listed)} to {format_money(now)} an hour. Search again.")


def _digest(credential: UUID, sent_to: str, body: Mapping[str, Any]) -> str:
    """Return a digest that nobody without the key can compare: bodies hold secrets."""
    text = json.dumps([credential.hex, sent_to, body], sort_keys=True, separators=(",", ":"))
    return hmac.digest(derived_key(_PURPOSE, ""), text.encode(), hashlib.sha256).hex()


def _claim(renter: User, digest: str) -> SentCreate:
    """Return the row of this create, locked: whoever sends the same at the same time waits here.

    A row that is there is locked by the same statement, so that the sweep can't delete it before it is read.
    """
    sent, key = SentCreate(user=renter, digest=digest), ["user", "digest"]
    SentCreate.objects.bulk_create([sent], update_conflicts=True, unique_fields=key, update_fields=["digest"])
    return SentCreate.objects.get(user=renter, digest=digest)


def _is_repeated(sent: SentCreate) -> bool:
    assert sent.instance is not None  # the caller has looked
    return clock.now() - sent.at < REPEATED_WITHIN and sent.instance.state not in (InstanceState.FAILED, *ENDING)
