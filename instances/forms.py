"""Input of the rent page and of an instance's name."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy as _

from common.ids import parse_public_id, public_id
from marketplace.share import usual_counts

if TYPE_CHECKING:
    from accounts.models import SshKey
    from storage.models import Image

DISKS_GB: Final = (0, 10, 20, 30, 50)
HOURS: Final = ((1, _("1 hour")), (8, _("8 hours")), (24, _("1 day")), (168, _("1 week")), (720, _("30 days")))
_FIRST_DISK_GB: Final = 20


class RentForm(forms.Form):
    """What a renter chooses; the offer says how many GPUs there are to choose from."""

    gpu_count = forms.TypedChoiceField(label=_("Number of GPUs"), coerce=int, widget=forms.RadioSelect)
    image = forms.ChoiceField(label=_("Image"), widget=forms.RadioSelect)
    data_disk_gb = forms.TypedChoiceField(
        label=_("Data disk"),
        coerce=int,
        choices=[(size, f"{size} GB" if size else _("none")) for size in DISKS_GB],
        initial=_FIRST_DISK_GB,
        widget=forms.RadioSelect,
    )
    hours = forms.TypedChoiceField(label=_("If it runs for"), coerce=int, choices=HOURS, initial=24)
    name = forms.CharField(label=_("Name"), max_length=80, required=False)
    ssh_key_ids = forms.MultipleChoiceField(label=_("SSH keys"), required=False, widget=forms.CheckboxSelectMultiple)
    quote_id = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(
        self, *args: Any, gpu_total: int, images: Sequence["Image"], keys: Iterable["SshKey"], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.images = {image.slug: image for image in images}
        names = [(public_id("key", key.pk), key.name) for key in keys]
        self._choose("gpu_count", [(count, str(count)) for count in usual_counts(gpu_total)], 1)
        self._choose("image", [(image.slug, image.title) for image in images], next(iter(self.images), ""))
        self._choose("ssh_key_ids", names, [key_id for key_id, _name in names])

    def _choose(self, name: str, choices: list[tuple[Any, str]], first: Any) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices
        field.initial = first

    @property
    def quote_id_given(self) -> UUID:
        """Raises NotFound when the page sent none."""
        return parse_public_id("quot", self.cleaned_data["quote_id"])

    @property
    def key_ids(self) -> list[UUID]:
        return [parse_public_id("key", text) for text in self.cleaned_data["ssh_key_ids"]]

    @property
    def wishes(self) -> dict[str, Any]:
        """What a quote is made of."""
        return {name: self.cleaned_data[name] for name in ("gpu_count", "image", "data_disk_gb", "hours")}


class NameForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=80)
