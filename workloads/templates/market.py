"""Offers of the market that a template can run on, and the lowest price among them."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from common.errors import DomainError, NotFound
from marketplace.leasing.offer_selectors import OfferPage
from marketplace.search.language.fields import OfferQuery
from marketplace.search.language.options import in_order
from marketplace.search.language.parser import parse_line
from marketplace.search.selectors import search_offers
from storage.images.selectors import find_image, needs_of_image
from workloads.models import TemplateVersion

if TYPE_CHECKING:
    from accounts.models import User
    from storage.models import Image


@dataclass(frozen=True)
class LowestPrice:
    """How many offers match, and the lowest price of a GPU-hour; None without any."""

    offers: int
    price_micros: int | None
    gpu: str = ""


def query_of(version: TemplateVersion, user: "User | None" = None) -> OfferQuery:
    """Return the search for offers that the version can run on, cheapest first.

    The template's search line and its minimums must both hold. The driver's version is no term of a search; it is
    checked when quoting.
    """
    content: dict[str, Any] = version.content
    try:
        query = parse_line(content["filter"])
    except DomainError:  # a term that the language no longer has
        query = OfferQuery()
    least = {"vram": content["min_vram_gb"], "cuda": content["min_cuda"]}
    minimums = parse_line(" ".join(f"{term}>={value}" for term, value in least.items() if value)).conditions
    disk = query.data_disk_gb if content["data_disk_gb"] is None else content["data_disk_gb"]
    query = replace(query, conditions=in_order([*query.conditions, *minimums]), data_disk_gb=disk, cursor=None)
    image = image_for(version, user)
    return query if image is None else replace(query, image=image.slug, image_needs=needs_of_image(image))


def image_for(version: TemplateVersion, user: "User | None" = None) -> "Image | None":
    """Return the image that an order by this user would run, or None where they can run it no longer."""
    image, slug = version.image, version.content["image"]
    if image.official and image.active and image.slug == slug:
        return image
    try:
        return find_image(slug, user)
    except NotFound:
        return None


def offers_for(query: OfferQuery, limit: int) -> OfferPage:
    return search_offers(replace(query, limit=limit))


def lowest_price(version: TemplateVersion, user: "User | None" = None) -> LowestPrice:
    if image_for(version, user) is None:
        return LowestPrice(0, None)
    page = offers_for(query_of(version, user), 1)
    if not page.offers:
        return LowestPrice(0, None)
    first = page.offers[0]
    return LowestPrice(page.total, first["price_all_in_micros"], str(first["gpu_name"]))
