"""Saving of an instance's root file system as an image, and counts of how often images are rented."""

from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import Count
from django.utils.translation import gettext as _

from accounts.models import User
from common.db.transactions import use_case
from common.errors import IllegalTransition, wrong_field
from common.messages.message import Name
from instances.core.selectors import instance_of
from instances.core.transitions import RENTER, check_action, record_event
from instances.models import Instance
from storage.images.register import record_uses
from storage.images.save import start_saving

if TYPE_CHECKING:
    from storage.models import Image

_NAME_MOST = 60
_DESCRIPTION_MOST = 300


def save_image_of(*, renter: User, instance_id: UUID, name: str, description: str = "") -> "Image":
    """Save the present root file system as an image, without the data disk.

    A running instance is paused while its root is copied. Raises IllegalTransition where the image would hold secrets.
    """
    title = name.strip()
    if not 1 <= len(title) <= _NAME_MOST:
        raise wrong_field("name", _("Enter an image name of up to %(most)s characters.") % {"most": _NAME_MOST})
    with use_case():
        instance = instance_of(renter, instance_id)
        check_action(instance, "save-image")
        _check_no_secrets(instance)
        image = start_saving(
            owner=renter,
            instance_id=instance.pk,
            host_id=instance.host_id,
            base=instance.image,
            name=title,
            description=description.strip()[:_DESCRIPTION_MOST],
        )
        record_event(instance, kind="image_asked", actor=RENTER, detail=Name(name=title))
    return image


def _check_no_secrets(instance: Instance) -> None:
    """Raise IllegalTransition for secrets in the container's configuration: the engine keeps that within a saved image."""
    if instance.launch is not None and instance.launch.secret_names and not instance.image.has_ssh:
        raise IllegalTransition(
            "Its secrets are in the container's configuration, which an image saved from it would hold. Restart it without"
            " secrets first.",
            state=instance.state,
            actions=instance.actions,
        )


def count_image_uses() -> int:
    """Count the instances that each image was rented with; return how many counts have changed.

    This is a sweep.
    """
    counted = Instance.objects.order_by().values_list("image_id").annotate(Count("pk"))
    return record_uses(counts=dict(counted))
