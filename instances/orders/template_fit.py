"""What a template needs of a host, and the image that a version is about; checked before anything is paid."""

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from common.errors import FieldError
from instances.errors import TemplateImageChanged, TemplateUnfit
from instances.launch.templates import OrderTemplate
from marketplace.hosts.selectors import publishes_udp

if TYPE_CHECKING:
    from marketplace.leasing.offer_selectors import OfferView
    from storage.models import Image


def check_template_fits(template: OrderTemplate | None, offer: "OfferView") -> None:
    """Raise TemplateUnfit, which names each thing that the offer lacks."""
    if template is None:
        return
    lacks = unmet_needs(template, offer, udp=not template.udp_ports or publishes_udp(offer.host_id))
    if lacks:
        raise TemplateUnfit(" ".join(each.detail for each in lacks), errors=lacks)


def check_template_image(template: OrderTemplate | None, image: "Image") -> None:
    """Raise TemplateImageChanged where the template's image is no longer what it was when the version was made.

    One version runs one image. Another image, which the renter has chosen in its place, is not checked.
    """
    if template is None or template.image != image.slug or template.reference in ("", image.reference):
        return
    names = {"image": image.slug, "version": template.version}
    detail = _("%(image)s is another image now than when version %(version)s was saved. Save a new version of the template.")
    if template.official:
        detail = _("%(image)s was just updated. The template has its new version within five minutes.")
    raise TemplateImageChanged(detail % names, errors=[FieldError("image", TemplateImageChanged.code, detail % names)])


def unmet_needs(template: OrderTemplate, offer: "OfferView", *, udp: bool) -> list[FieldError]:
    """Return each thing that the offer lacks; `udp` is whether its host publishes UDP ports."""
    lacks: list[FieldError] = []
    if template.min_vram_gb and offer.vram_gb < template.min_vram_gb:
        detail = _("The template needs %(need)s GB of VRAM, this GPU has %(has)s GB.")
        lacks.append(FieldError("min_vram_gb", "unmet", detail % {"need": template.min_vram_gb, "has": offer.vram_gb}))
    if _is_older(offer.cuda, template.min_cuda):
        detail = _("The template needs CUDA %(need)s, this host's driver has %(has)s.")
        lacks.append(FieldError("min_cuda", "unmet", detail % {"need": template.min_cuda, "has": offer.cuda or "–"}))
    if _is_older(offer.driver, template.min_driver):
        detail = _("The template needs driver %(need)s, this host has %(has)s.")
        lacks.append(FieldError("min_driver", "unmet", detail % {"need": template.min_driver, "has": offer.driver or "–"}))
    if template.udp_ports and not udp:
        lacks.append(FieldError("ports", "unmet", _("The template needs UDP ports, which this host can't publish.")))
    return lacks


def _is_older(has: str, need: str) -> bool:
    return bool(need) and _numbers(has) < _numbers(need)


def _numbers(version: str) -> tuple[int, ...]:
    """Return a version's leading numbers; a host's own words are not trusted to be one."""
    parts = []
    for part in version.split(".")[:4]:
        if not (part.isascii() and part.isdecimal() and len(part) <= 9):  # noqa: PLR2004  (a plain number)
            break
        parts.append(int(part))
    return tuple(parts)
