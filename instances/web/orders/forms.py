"""Forms of the rental page, of an instance's name and of wait-list entries."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy as _

from billing.pricing.estimates import RESERVED
from common.http.fields import NameField, parse_whole_number
from common.ids import parse_public_id, public_id
from common.money import parse_money
from instances.launch.templates import OrderTemplate
from instances.pricing.price_fields import ModeFields
from instances.states import WatchAction
from instances.wait_list.entries import EntryOrder
from instances.web.launch.template_forms import TemplateFormFields
from instances.web.volumes.forms import MountFields
from marketplace.constants import DATA_DISK_GB_MAX
from marketplace.pricing.cpu_ram_share import usual_counts
from marketplace.search.index.cuda_versions import version_number

if TYPE_CHECKING:
    from accounts.models import SshKey
    from marketplace.leasing.offer_selectors import OfferView
    from storage.models import Image

DISKS_GB: Final = (0, 10, 20, 30, 50, 100, 200, 500, 1000)
HOURS: Final = ((1, _("1 hour")), (8, _("8 hours")), (24, _("1 day")), (168, _("1 week")), (720, _("30 days")))
_FIRST_DISK_GB: Final = 20


class RentForm(MountFields, ModeFields, TemplateFormFields):
    """A renter's choices; the offer limits them."""

    gpu_count = forms.TypedChoiceField(label=_("Number of GPUs"), coerce=int, widget=forms.RadioSelect)
    image = forms.ChoiceField(label=_("Image"), widget=forms.RadioSelect)
    data_disk_gb = forms.TypedChoiceField(
        label=_("Data disk"),
        coerce=int,
        widget=forms.RadioSelect,
    )
    hours = forms.TypedChoiceField(label=_("Estimated run time"), coerce=int, choices=HOURS, initial=24)
    name = NameField(label=_("Name"), max_length=80, required=False)
    ssh_key_ids = forms.MultipleChoiceField(label=_("SSH keys"), required=False, widget=forms.CheckboxSelectMultiple)

    def __init__(
        self, *args: Any, offer: "OfferView", images: Sequence["Image"], keys: Iterable["SshKey"], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.images, self._offer = {image.slug: image for image in images}, offer
        names = [(public_id("key", key.pk), key.name) for key in keys]
        self._choose("gpu_count", [(count, str(count)) for count in usual_counts(offer.gpu_total)], 1)
        self._choose_disks()
        self._choose("image", [(image.slug, image.full_title) for image in images], next(iter(self.images), ""))
        self._choose("ssh_key_ids", names, [key_id for key_id, _name in names])
        self.sell(offer)

    def use_template(self, template: OrderTemplate | None, named: str) -> None:
        """Show the template's settings, and ask for its inputs; the size of its disk becomes a choice."""
        super().use_template(template, named)
        self._choose_disks()

    def _choose_disks(self) -> None:
        sizes = [(size, f"{size} GB" if size else _("none")) for size in self._disks(self._offer)]
        self._choose("data_disk_gb", sizes, _FIRST_DISK_GB)

    def _disks(self, offer: "OfferView") -> list[int]:
        """Return the usual sizes that fit on the host, and the one that was requested."""
        text = str(self.data.get("data_disk_gb", "") or self.initial.get("data_disk_gb", ""))
        gb = parse_whole_number(text, most=DATA_DISK_GB_MAX)
        sizes = {size for size in DISKS_GB if size <= offer.disk_free_gb}
        return sorted(sizes if gb is None else {*sizes, gb})

    @property
    def frameworks(self) -> list[list["Image"]]:
        """Return the images, with official ones of one title that differ in CUDA together: highest CUDA first."""
        found: dict[tuple[bool, str], list[Image]] = {}
        for image in self.images.values():
            same = found.setdefault((image.official, image.title if image.official else image.slug), [])
            if any(image.cuda == other.cuda for other in same):
                found[True, image.slug] = [image]
            else:
                same.append(image)
        return [sorted(same, key=lambda image: version_number(image.cuda), reverse=True) for same in found.values()]

    @property
    def key_ids(self) -> list[UUID] | None:
        """Return the chosen keys, or None when all are ticked, so that later keys are included."""
        ticked = self.cleaned_data["ssh_key_ids"]
        every = len(ticked) == len(list(self["ssh_key_ids"]))
        return None if every else [parse_public_id("key", text) for text in ticked]

    @property
    def order(self) -> dict[str, Any]:
        """Return the arguments of the order besides its quote."""
        data = self.cleaned_data
        return {"name": data["name"], "ssh_key_ids": self.key_ids, "auto_renew": data["auto_renew"], **self.mounts}

    @property
    def quote_options(self) -> dict[str, Any]:
        """Return the arguments of a quote."""
        options = {name: self.cleaned_data[name] for name in ("gpu_count", "image", "data_disk_gb", "hours")}
        modes = self.mode_options
        if modes["billing_mode"] == RESERVED:
            options["hours"] = None  # the whole term
        return options | modes | {"launch": self.draft_launch, "template": self.order_template}


class NameForm(forms.Form):
    name = NameField(label=_("Name"), max_length=80)


WAITS: Final = (
    (6, _("6 hours")),
    (24, _("1 day")),
    (72, _("3 days")),
    (168, _("1 week")),
    (720, _("30 days")),
)
_FIRST_WAIT_H: Final = 168


class WatchForm(forms.Form):
    """A wait-list entry; errors of the service are shown above the fields."""

    q = forms.CharField(label=_("Search query"), max_length=500, required=False)
    action = forms.ChoiceField(choices=WatchAction, initial=WatchAction.TELL, widget=forms.RadioSelect)
    max_price = forms.CharField(label=_("Max price per GPU-hour"), max_length=20, required=False)
    image = forms.ChoiceField(label=_("Image"), required=False)
    data_disk_gb = forms.IntegerField(label=_("Data disk (GB)"), required=False, min_value=0, max_value=DATA_DISK_GB_MAX)
    ssh_key_ids = forms.MultipleChoiceField(label=_("SSH keys"), required=False, widget=forms.CheckboxSelectMultiple)
    name = NameField(label=_("Name of the instance"), max_length=80, required=False)
    hours = forms.TypedChoiceField(label=_("Wait for up to"), coerce=int, choices=WAITS, initial=_FIRST_WAIT_H)

    def __init__(self, *args: Any, images: Sequence["Image"], keys: Iterable["SshKey"], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [(public_id("key", key.pk), key.name) for key in keys]
        self._choose("image", [(image.slug, image.full_title) for image in images])
        self._choose("ssh_key_ids", names)
        self.fields["ssh_key_ids"].initial = [key_id for key_id, _name in names]

    def _choose(self, name: str, choices: list[tuple[Any, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    @property
    def place(self) -> dict[str, Any]:
        """Return the arguments of `create_entry`, or raise InvalidInput for a malformed price."""
        data = self.cleaned_data
        rents = data["action"] == WatchAction.RENT
        return {
            "line": data["q"],
            "action": data["action"],
            "lifetime": timedelta(hours=data["hours"]),
            "order": EntryOrder(
                image=data["image"] if rents else "",
                max_price_micros=parse_money(data["max_price"]) if data["max_price"] else None,
                data_disk_gb=data["data_disk_gb"] if rents else None,
                ssh_key_ids=[parse_public_id("key", text) for text in data["ssh_key_ids"]] if rents else None,
                name=data["name"] if rents else "",
            ),
        }
