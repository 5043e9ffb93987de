"""Forms of the re-image and resize dialogs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext_lazy as _

from common.money import parse_money
from instances.models import Instance
from instances.web.launch.forms import LaunchFormFields
from marketplace.constants import DATA_DISK_GB_MAX
from marketplace.pricing.cpu_ram_share import usual_counts

if TYPE_CHECKING:
    from storage.models import Image


class ReimageForm(LaunchFormFields):
    """The image, and the consent to what is deleted."""

    image = forms.ChoiceField(label=_("Image"), widget=forms.RadioSelect)
    understood = forms.BooleanField(label=_("I understand that everything outside /data is deleted."))

    def __init__(self, *args: Any, instance: Instance, images: Sequence["Image"], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.images = images
        self.based_on(instance.launch)
        choice = self.fields["image"]
        assert isinstance(choice, forms.ChoiceField)
        choice.choices = [(image.slug, image.title) for image in images]
        choice.initial = instance.image.slug


class ResizeForm(forms.Form):
    """Number of GPUs and size of the disk, with the prices that were shown for them."""

    gpu_count = forms.TypedChoiceField(label=_("Number of GPUs"), coerce=int, required=False, empty_value=None)
    data_disk_gb = forms.IntegerField(label=_("Data disk (GB)"), required=False, max_value=DATA_DISK_GB_MAX)
    max_rate = forms.CharField(max_length=30, required=False, widget=forms.HiddenInput)
    max_daily = forms.CharField(max_length=30, required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, instance: Instance, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        counts = sorted({*usual_counts(instance.offer.gpu_total), instance.gpu_count})
        choice = self.fields["gpu_count"]
        assert isinstance(choice, forms.TypedChoiceField)
        choice.choices = [(count, str(count)) for count in counts]
        choice.initial = instance.gpu_count
        self.fields["data_disk_gb"].initial = instance.data_disk_gb

    @property
    def size(self) -> dict[str, int | None]:
        return {name: self.cleaned_data[name] for name in ("gpu_count", "data_disk_gb")}

    @property
    def limits(self) -> dict[str, int | None]:
        """Return the accepted prices, or raise InvalidInput for malformed ones."""
        named = {"max_rate_micros": "max_rate", "max_disk_micros_per_day": "max_daily"}
        limits = {name: self.cleaned_data[field] for name, field in named.items()}
        return {name: parse_money(text) if text else None for name, text in limits.items()}
