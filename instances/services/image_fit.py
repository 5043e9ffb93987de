"""Whether an image can run on an offer's host, asked before anything is paid."""

from typing import TYPE_CHECKING, Final

from common.errors import FieldError
from instances.errors import ImageNeedsCuda
from marketplace.selectors import OfferView
from storage.errors import ImageElsewhere, ImagePrivate, ImageTooLarge
from storage.policy import IMAGE_UNPACKS_TO
from storage.states import ImageSource

if TYPE_CHECKING:
    from storage.models import Image

GB: Final = 1000**3


def check_image_fits(offer: OfferView, image: "Image", *, data_disk_gb: int) -> None:
    """Raises ImageNeedsCuda, ImageElsewhere, ImagePrivate or ImageTooLarge."""
    _check_cuda(offer, image)
    if image.host_id is not None and image.host_id != offer.host_id:
        raise ImageElsewhere("It was saved on another host and lies there alone. Choose an offer of that host.")
    if image.private and image.registry_id is None and image.source == ImageSource.NAMED:
        raise ImagePrivate("The login for its registry was removed. Save it again to use this image.")
    needed = image.size_bytes * IMAGE_UNPACKS_TO / GB
    if image.host_id is None and needed + data_disk_gb > offer.disk_free_gb:
        said = f"It needs about {needed:.0f} GB on the host's disk beside the data disk; {offer.disk_free_gb} GB are free."
        raise ImageTooLarge(said)


def _check_cuda(offer: OfferView, image: "Image") -> None:
    if image.cuda and _version(offer.cuda) < _version(image.cuda):
        has = offer.cuda or "none"
        said = f"The image needs CUDA {image.cuda}; the driver of this offer's host supports {has}."
        raise ImageNeedsCuda(said, errors=[FieldError("image", "invalid", said)])


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())
