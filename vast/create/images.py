"""The image that a create names: one of this market, one that the renter has, or one that is added by its name now."""

from typing import TYPE_CHECKING

from accounts.models import User
from common.errors import NotFound
from storage.clients.oci_registry.references import parse_name, parse_registry
from storage.images.credentials import check_registry_login, save_registry
from storage.images.resolve import add_image, current_image, examine_image
from storage.images.selectors import own_by_name, usable_images
from vast.create.bodies import Login

if TYPE_CHECKING:
    from storage.models import Image


def image_named(*, renter: User, text: str, login: Login | None = None) -> "Image":
    """Return the image with this slug, public id or name in a registry; a new name is added to the renter's images.

    It makes network requests, so call it outside transactions. Raises InvalidInput for a malformed name, else the
    errors of `storage.errors` about images and registries.
    """
    if login is not None:
        _save_login(renter, login)
    try:
        return current_image(user=renter, text=text)
    except NotFound:
        known = _by_name(renter, text)
    if known is not None:
        return current_image(user=renter, text=known.slug)
    return add_image(owner=renter, examined=examine_image(owner=renter, name=text))


def _by_name(renter: User, text: str) -> "Image | None":
    """Return the renter's image of this name, or the official one that is made of it."""
    own = own_by_name(renter, parse_name(text).text)
    return own or usable_images(None).filter(reference=text).first()


def _save_login(renter: User, login: Login) -> None:
    host = parse_registry(login.host)
    check_registry_login(host=host, username=login.username, password=login.password)
    save_registry(owner=renter, host=host, username=login.username, password=login.password)
