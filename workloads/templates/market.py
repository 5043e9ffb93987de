"""Offers of the market that a template can run on, and the cheapest verified one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from common.errors import DomainError
from instances.launch.templates import OrderTemplate
from instances.orders.template_fit import unmet_needs
from marketplace.hosts.selectors import HostAbilities, abilities_of
from marketplace.leasing.offer_selectors import OfferPage, view_of
from marketplace.search.language.fields import Condition, OfferQuery, Op
from marketplace.search.language.options import in_order
from marketplace.search.language.parser import parse_line
from marketplace.search.selectors import search_offers, search_several
from storage.images.selectors import needs_of_image, usable_images
from workloads.models import LaunchTemplate, TemplateVersion
from workloads.templates.orders import order_template

if TYPE_CHECKING:
    from accounts.models import User
    from storage.models import Image

_VERIFIED: Final = Condition("verified", Op.EQ, True)
# What a search can't ask of a host is asked of so many of the cheapest offers.
_LOOKED_AT: Final = 20


@dataclass(frozen=True)
class Suiting:
    """The cheapest verified offer on which a version can be rented, or None.

    Without `has_image` the image can be run no longer; with `changed` it is another one than the version was made with.
    """

    query: OfferQuery
    offer: Mapping[str, Any] | None
    has_image: bool
    changed: bool


def query_of(version: TemplateVersion, image: "Image | None") -> OfferQuery:
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
    conditions = in_order([*query.conditions, *minimums])
    query = replace(query, conditions=conditions, data_disk_gb=disk, sort="price", cursor=None)
    return query if image is None else replace(query, image=image.slug, image_needs=needs_of_image(image))


def images_for(versions: Sequence[TemplateVersion], user: "User | None") -> "list[Image | None]":
    """Return the images that orders by this user would run, in at most one query; None where they can run it no longer."""
    official = [version.image.official and version.image.active for version in versions]
    slugs = {version.content["image"] for version, known in zip(versions, official, strict=True) if not known}
    others = {image.slug: image for image in usable_images(user).filter(slug__in=slugs)} if slugs else {}
    return [
        version.image if known and version.image.slug == version.content["image"] else others.get(version.content["image"])
        for version, known in zip(versions, official, strict=True)
    ]


def offers_for(query: OfferQuery, limit: int) -> OfferPage:
    return search_offers(replace(query, limit=limit))


def cheapest_offers(seen: Sequence[tuple[LaunchTemplate, TemplateVersion]], user: "User | None") -> list[Suiting]:
    """Return for each version the cheapest verified offer that has what it needs.

    The number of queries does not depend on the number of versions.
    """
    images = images_for([version for _, version in seen], user)
    queries = [query_of(version, image) for (_, version), image in zip(seen, images, strict=True)]
    pages = search_several([_verified(query) for query in queries])
    changed = [_has_changed(version, image) for (_, version), image in zip(seen, images, strict=True)]
    runs = [image is not None and not other for image, other in zip(images, changed, strict=True)]
    rows = [page.offers if each else [] for page, each in zip(pages, runs, strict=True)]
    abilities = abilities_of(list({row["host_id"] for each in rows for row in each}))
    return [
        Suiting(query, _first(order_template(*row), offers, abilities), image is not None, other)
        for row, query, offers, image, other in zip(seen, queries, rows, images, changed, strict=True)
    ]


def _has_changed(version: TemplateVersion, image: "Image | None") -> bool:
    return image is not None and image.reference != version.content["reference"]


def _verified(query: OfferQuery) -> OfferQuery:
    return replace(query, conditions=in_order([*query.conditions, _VERIFIED]), limit=_LOOKED_AT)


def _first(
    template: OrderTemplate, offers: Sequence[Mapping[str, Any]], abilities: Mapping[Any, HostAbilities]
) -> Mapping[str, Any] | None:
    """Return the first of the offers that an order by the template would not be refused for."""
    sets = bool(template.settings) or bool(template.inputs)
    for offer in offers:
        host = abilities.get(offer["host_id"])
        if host is None or (sets and not host.launch_settings):
            continue
        if not unmet_needs(template, view_of(offer), udp=host.udp):
            return offer
    return None
