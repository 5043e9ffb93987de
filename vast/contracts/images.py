"""Another image for an instance, or its own one anew."""

from collections.abc import Mapping
from typing import Any

from accounts.models import User
from instances.launch.templates import find_template
from instances.lifecycle.reimage import reimage_instance
from vast.contracts.changes import own_instance
from vast.create.bodies import read_launch, read_template_hash
from vast.create.images import image_named
from vast.create.orders import template_text
from vast.errors import InvalidArgs


def recycle(*, renter: User, number: int) -> None:
    """Make the root of an instance anew from its image; what is at /data stays."""
    instance = own_instance(renter, number)
    reimage_instance(renter=renter, instance_id=instance.pk, image=instance.image.slug)


def update(*, renter: User, number: int, body: Mapping[str, Any]) -> None:
    """Make the root anew from another image, with other launch settings, or with those of a template."""
    instance, launch = own_instance(renter, number), read_launch(body)
    image, hash_id = body.get("image"), read_template_hash(body)
    if image is not None and not isinstance(image, str):
        raise InvalidArgs("image: Send a text.")
    if body.get("template_id") is not None:
        raise InvalidArgs("template_id: Name a template by its template_hash_id, as `vastai search templates` shows it.")
    if not (image or hash_id or launch):
        raise InvalidArgs("Name another image, template, environment, arguments or start script.")
    if hash_id:
        template = find_template(renter, template_text(hash_id))
        plain = {name: value for name, value in template.settings.plain.items() if value}
        launch, image = {**plain, **launch}, image or template.image
    slug = image_named(renter=renter, text=image).slug if image else instance.image.slug
    reimage_instance(renter=renter, instance_id=instance.pk, image=slug, launch=launch or None)
