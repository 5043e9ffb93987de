"""Compatibility of an image with an offer's host; checked before anything is paid."""

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from common.errors import FieldError
from instances.errors import ImageNeedsCuda
from marketplace.gpu_catalogue.catalogue import by_slug
from marketplace.leasing.offer_selectors import OfferView
from marketplace.pricing.offer_requirements import ImageNeeds
from marketplace.search.index.cuda_versions import gpus_without, version_number
from storage.errors import ImageElsewhere, ImagePrivate, ImageTooLarge
from storage.images.selectors import LOGIN_REMOVED, lacks_login, needs_of_image

if TYPE_CHECKING:
    from storage.models import Image


def check_image_fits(offer: OfferView, image: "Image", *, data_disk_gb: int) -> None:
    """Raise ImageNeedsCuda, ImageElsewhere, ImagePrivate or ImageTooLarge if the image cannot run there."""
    needs = needs_of_image(image)
    if not needs.driver_suffices(version_number(offer.cuda)):
        has = offer.cuda or "none"
        message = _("This image needs CUDA %(needed)s; the host's driver supports %(has)s.") % {
            "needed": image.cuda,
            "has": has,
        }
        raise _needs_cuda(message)
    if offer.gpu_model in gpus_without(needs.cuda):
        model = by_slug(offer.gpu_model)
        message = _("This image needs CUDA %(needed)s; the last version that runs on %(gpu)s is %(last)s.") % {
            "needed": image.cuda,
            "gpu": model.name,
            "last": model.cuda_last,
        }
        raise _needs_cuda(message)
    if not needs.lies_at(offer.host_id):
        raise ImageElsewhere("The image is only stored on the host it was saved on. Choose an offer on that host.")
    if lacks_login(image):
        raise ImagePrivate(LOGIN_REMOVED)
    _check_room(offer, needs, data_disk_gb)


def image_fits(offer: OfferView, image: "Image") -> bool:
    """Return whether the image can run there without a data disk."""
    needs = needs_of_image(image)
    fits: bool = needs.driver_suffices(version_number(offer.cuda)) and needs.room_suffices(offer.disk_free_gb, 0)
    fits = fits and offer.gpu_model not in gpus_without(needs.cuda)
    return fits and needs.lies_at(offer.host_id) and not lacks_login(image)


def _needs_cuda(message: str) -> ImageNeedsCuda:
    return ImageNeedsCuda(message, errors=[FieldError("image", "invalid", message)])


def _check_room(offer: OfferView, needs: ImageNeeds, data_disk_gb: int) -> None:
    if needs.room_gb and not needs.room_suffices(offer.disk_free_gb, data_disk_gb):
        raise ImageTooLarge(f"It needs about {needs.room_gb} GB besides the data disk; {offer.disk_free_gb} GB are free.")
