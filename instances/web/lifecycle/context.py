"""Template contexts of re-imaging, resizing and runs without a GPU."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from billing.pricing.estimates import RESERVED
from common.errors import DomainError
from instances.constants import CPU_RUN_MICROS_PER_HOUR, CPU_RUN_MILLIS, CPU_RUN_RAM_MB
from instances.core.selectors import instance_of
from instances.lifecycle.resize import price_of_size, size_of
from instances.models import Instance
from instances.states import InstanceState
from instances.web.lifecycle.forms import ReimageForm, ResizeForm
from marketplace.constants import DATA_DISK_GB_MAX, FREE_DATA_DISK_GB
from storage.images.selectors import active_images
from storage.operations.selectors import operations_of

ACTION_LABELS: Final[Mapping[str, str | Promise]] = {
    "cpu_start_asked": _("Started without GPU"),
    "reimage_asked": _("Image change requested"),
    "reimage_set": _("Image changes at the next start"),
    "reimage_taken_back": _("Image change cancelled"),
    "reimage_failed": _("Image change failed: the previous system disk was restored"),
    "reimaged": _("Running from the new system disk"),
    "resized": _("Number of GPUs changed"),
    "disk_set": _("Data disk added"),
    "growth_asked": _("Data disk expansion requested"),
    "disk_grown": _("Data disk expanded"),
    "disk_grown_at_next_start": _("Data disk expands at the next start or restart"),
    "growth_failed": _("Data disk couldn't be expanded"),
    "disk_unpaid": _("Unpaid: not enough funds for the expanded disk"),
}
CPU_RUN: Final = {"rate_micros": CPU_RUN_MICROS_PER_HOUR, "cpu_millis": CPU_RUN_MILLIS, "ram_mb": CPU_RUN_RAM_MB}
_AT_REST: Final = (InstanceState.STOPPED, InstanceState.FAILED)
_GROWTH: Final = "grow_disk"


def changes_context(instance: Instance) -> dict[str, Any]:
    """Return the context of changes that are in progress or possible."""
    growing = operations_of(instance.pk).filter(kind=_GROWTH, ended_at=None).first()
    return {"growing": growing, "growing_gb": growing.args["size_gb"] if growing else "", "cpu_run": CPU_RUN}


def reimage_context(renter: User, instance_id: UUID, params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the context of the re-image form, or raise NotFound."""
    instance = instance_of(renter, instance_id)
    images = [image for image in active_images(renter) if image.host_id in (None, instance.host_id)]
    form = ReimageForm(params, instance=instance, images=images)
    return {"instance": instance, "form": form, "runs": instance.state == InstanceState.RUNNING}


def resize_context(renter: User, instance_id: UUID, params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the context of the resize form with its price, or raise NotFound.

    With `params` None, it shows the present size.
    """
    instance = instance_of(renter, instance_id)
    context: dict[str, Any] = {
        "instance": instance,
        "form": ResizeForm(params, instance=instance),
        "now": size_of(instance),
        "counts": instance.state in _AT_REST and instance.billing_mode != RESERVED and not instance.holds_gpus,
        "most_gb": min(DATA_DISK_GB_MAX, instance.data_disk_gb + instance.offer.disk_free_gb),
        "free_gb": FREE_DATA_DISK_GB,
        "runs": instance.state == InstanceState.RUNNING,
    }
    return context | _priced(instance, context["form"])


def _priced(instance: Instance, form: ResizeForm) -> dict[str, Any]:
    """Return the price of a valid form; an empty form has the price of the present size."""
    if form.is_bound and not form.is_valid():
        return {}
    chosen = form.size if form.is_bound else {"gpu_count": None, "data_disk_gb": None}
    try:
        size = price_of_size(instance, **chosen)
    except DomainError as error:
        return {"refused": error}
    return {"size": size, "changes": size != size_of(instance)}
