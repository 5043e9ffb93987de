"""Forms of growing, moving and copying volumes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.validators import MinValueValidator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from common.http.fields import NameField
from common.ids import parse_public_id, public_id
from common.money import format_money, parse_money
from marketplace.constants import DATA_DISK_GB_MAX
from marketplace.pricing.transfer_time import transfer_minutes
from storage.states import VolumeMoveKind

if TYPE_CHECKING:
    from marketplace.hosts.storage_selectors import StorageHost
    from storage.models import Volume


class VolumeSizeForm(forms.Form):
    """The new size; `max_daily` is the price that was shown."""

    size_gb = forms.IntegerField(label=_("Size (GB)"), max_value=DATA_DISK_GB_MAX)
    max_daily = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, volume: "Volume", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["size_gb"]
        assert isinstance(field, forms.IntegerField)
        field.validators.append(MinValueValidator(volume.size_gb + 1))
        field.widget.attrs["min"] = volume.size_gb + 1
        field.widget.attrs["max"] = DATA_DISK_GB_MAX
        field.initial = min(DATA_DISK_GB_MAX, volume.size_gb * 2)

    @property
    def order(self) -> dict[str, Any]:
        """Return the arguments of `resize_volume`."""
        most = self.cleaned_data["max_daily"]
        return {"size_gb": self.cleaned_data["size_gb"], "max_micros_per_day": parse_money(most) if most else None}


class VolumeTransferForm(forms.Form):
    """Move or copy, and the host; the value of a host includes the price that was shown."""

    kind = forms.ChoiceField(
        label=_("Action"),
        choices=[(VolumeMoveKind.MOVE, _("Move")), (VolumeMoveKind.COPY, _("Copy"))],
        initial=VolumeMoveKind.MOVE,
        widget=forms.RadioSelect,
    )
    place = forms.ChoiceField(label=_("Host"))
    name = NameField(
        label=_("Name of the copy"),
        max_length=40,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"}),
    )

    def __init__(
        self, *args: Any, volume: "Volume", hosts: "Sequence[StorageHost]", carried_bytes: int, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].initial = f"{volume.name[:35]}-copy"
        same = [host for host in hosts if host.region == volume.host.region]
        others = [host for host in hosts if host.region != volume.host.region]
        groups = [
            (gettext("%(region)s: move or copy") % {"region": volume.host.region}, same),
            (gettext("Other regions: copy"), others),
        ]
        field = self.fields["place"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [
            (words, [_choice(volume, host, carried_bytes) for host in found]) for words, found in groups if found
        ]
        if not same:
            self.fields["kind"].initial = VolumeMoveKind.COPY

    @property
    def copies(self) -> bool:
        return bool(self.cleaned_data["kind"] == VolumeMoveKind.COPY)

    @property
    def order(self) -> dict[str, Any]:
        """Return the arguments of `move_volume_to_host` or `copy_volume_to_host`."""
        host, _colon, most = self.cleaned_data["place"].partition(":")
        named = {"name": self.cleaned_data["name"]} if self.copies else {}
        return {"host_id": parse_public_id("host", host), "max_micros_per_day": int(most), **named}


def _choice(volume: "Volume", host: "StorageHost", carried_bytes: int) -> tuple[str, str]:
    micros = host.micros_gb_day * volume.size_gb
    price = gettext("%(price)s/day") % {"price": format_money(micros)}
    minutes = transfer_minutes(carried_bytes, volume.host.net_up_mbps, host.net_down_mbps)
    words = [price, host.name] if host.region == volume.host.region else [price, host.name, host.region]
    if minutes is not None:
        words.append(gettext("about %(minutes)s min") % {"minutes": minutes})
    if host.simulated:
        words.append(gettext("simulated"))
    return f"{public_id('host', host.id)}:{micros}", " · ".join(words)
