"""What the market may know of images, which live on a floor above it."""

from marketplace.console import ImageChoice, Images
from storage.selectors import active_images, cuda_of_image


def image_choices() -> list[ImageChoice]:
    return [ImageChoice(image.slug, image.title, image.cuda) for image in active_images()]


MARKET_IMAGES = Images(needs=cuda_of_image, choices=image_choices)
