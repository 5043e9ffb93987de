"""Access of the market's pages to images and volumes, which belong to an app above them."""

from common.ids import parse_public_id, public_id
from marketplace.search.volume_locality import VolumePlace
from marketplace.web.search.context import ImageChoice, Images
from storage.images.selectors import active_images, image_needs
from storage.volumes.selectors import any_volume_with_host
from storage.volumes.transfer_selectors import bytes_to_transfer


def image_choices() -> list[ImageChoice]:
    return [ImageChoice(image.slug, image.title, image.cuda) for image in active_images()]


def place_of_volume(text: str) -> VolumePlace:
    """Return where the volume with this public id is.

    Raises:
        NotFound: There is no such volume.
    """
    volume = any_volume_with_host(parse_public_id("vol", text))
    host = volume.host
    return VolumePlace(
        id=public_id("vol", volume.pk),
        host=public_id("host", host.pk),
        region=host.region,
        runtime=host.runtime,
        carried_bytes=bytes_to_transfer(volume),
        up_mbps=host.net_up_mbps,
    )


MARKET_IMAGES = Images(needs=image_needs, choices=image_choices, place_of_volume=place_of_volume)
