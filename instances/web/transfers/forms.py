"""Form of clones and migrations."""

from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy as _

from common.http.fields import NameField
from common.ids import parse_public_id
from common.money import parse_money
from instances.transfers.start import Destination
from instances.web.launch.forms import LaunchFormFields

if TYPE_CHECKING:
    from instances.models import Instance

MIGRATE: Final = "migrate"


class InstanceTransferForm(LaunchFormFields):
    """Offer and number of GPUs; for a clone also its name, and whether to copy the data disk."""

    offer = forms.CharField(label=_("Destination"))
    gpu_count = forms.IntegerField(label=_("Number of GPUs"), min_value=1, max_value=64)
    data_disk = forms.BooleanField(label=_("Include the data disk"), required=False)
    name = NameField(label=_("Name"), max_length=80, required=False)
    max_rate = forms.CharField(required=False)

    def __init__(self, data: Any, *, verb: str, instance: "Instance", initial: dict[str, Any]) -> None:
        self.verb, self.instance = verb, instance
        first = {"gpu_count": instance.gpu_count, "data_disk": True, "name": f"{instance.name}-clone"[:80]}
        super().__init__(data, initial=first | initial)
        self.based_on(instance.launch)

    @property
    def is_clone(self) -> bool:
        return self.verb != MIGRATE

    @property
    def with_disk(self) -> bool:
        return not self.is_clone or bool(self.cleaned_data["data_disk"])

    @property
    def to(self) -> Destination:
        most = self.cleaned_data["max_rate"]
        return Destination(
            offer_id=self.offer_id,
            gpu_count=self.cleaned_data["gpu_count"],
            max_rate_micros=parse_money(most) if most else None,
        )

    @property
    def offer_id(self) -> UUID:
        return parse_public_id("offr", self.cleaned_data["offer"])

    @property
    def order(self) -> dict[str, Any]:
        if not self.is_clone:
            return {"to": self.to}
        name = self.cleaned_data["name"]
        return {"to": self.to, "data_disk": self.with_disk, "name": name, "launch": self.launch_changes}
