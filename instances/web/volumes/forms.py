"""Forms of the pages about volumes, snapshots and public data sets."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy as _

from common.http.fields import NameField
from common.ids import parse_public_id, public_id
from common.money import format_money
from marketplace.constants import DATA_DISK_GB_MAX

if TYPE_CHECKING:
    from marketplace.hosts.storage_selectors import StorageHost
    from storage.models import DataSet, Snapshot, Volume

_FIRST_SIZE_GB = 20


class VolumeForm(forms.Form):
    """A new volume; from a snapshot, its host is fixed."""

    name = NameField(
        label=_("Name"),
        max_length=40,
        help_text=_("Lowercase letters, digits and hyphens. Mounted at /mnt/<name>."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"}),
    )
    host = forms.ChoiceField(
        label=_("Host"),
        required=False,
        help_text=_("Available to instances on this host immediately; for others in the region it is moved first."),
    )
    size_gb = forms.IntegerField(label=_("Size (GB)"), min_value=1, max_value=DATA_DISK_GB_MAX)
    snapshot = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, hosts: Sequence["StorageHost"], snapshot: "Snapshot | None", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["host"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(public_id("host", host.id), _host_label(host)) for host in hosts]
        self.fields["size_gb"].initial = snapshot.size_gb if snapshot else _FIRST_SIZE_GB
        self.fields["size_gb"].widget.attrs["min"] = snapshot.size_gb if snapshot else 1
        if snapshot is not None:
            del self.fields["host"]
            self.fields["snapshot"].initial = public_id("snap", snapshot.pk)

    @property
    def order(self) -> dict[str, Any]:
        """Return the arguments of `create_volume`."""
        data = self.cleaned_data
        return {
            "name": data["name"],
            "size_gb": data["size_gb"],
            "host_id": parse_public_id("host", data["host"]) if data.get("host") else None,
            "snapshot_id": parse_public_id("snap", data["snapshot"]) if data["snapshot"] else None,
        }


class SnapshotForm(forms.Form):
    """The disk to copy."""

    source = forms.ChoiceField(label=_("Copy of"))
    name = NameField(label=_("Name"), max_length=80, required=False, help_text=_("Leave blank to generate a name."))

    def __init__(self, *args: Any, sources: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["source"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = list(sources)


class DataSetForm(forms.Form):
    """A data set to publish."""

    snapshot = forms.ChoiceField(label=_("Snapshot"))
    slug = forms.CharField(label=_("Short name"), max_length=40, help_text=_("Mounted at /pub/<short name>."))
    title = NameField(label=_("Title"), max_length=120)
    description = forms.CharField(
        label=_("Description"), max_length=2000, required=False, widget=forms.Textarea(attrs={"rows": 3})
    )
    licence = NameField(label=_("License"), max_length=120, required=False)

    def __init__(self, *args: Any, snapshots: Iterable["Snapshot"], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["snapshot"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(public_id("snap", row.pk), f"{row.name} · {row.host.name}") for row in snapshots]

    @property
    def order(self) -> dict[str, Any]:
        """Return the arguments of `publish_snapshot`."""
        data = dict(self.cleaned_data)
        return {"snapshot_id": parse_public_id("snap", data.pop("snapshot")), **data}


class MountFields(forms.Form):
    """Volumes and public data sets that a new instance is to mount."""

    volume_ids = forms.MultipleChoiceField(label=_("Volumes"), required=False, widget=forms.CheckboxSelectMultiple)
    data_sets = forms.MultipleChoiceField(label=_("Public datasets"), required=False, widget=forms.CheckboxSelectMultiple)

    def set_mount_choices(
        self, volumes: Iterable["Volume"], data_sets: Iterable["DataSet"], coming: Iterable[tuple["Volume", str]] = ()
    ) -> None:
        """Set the choices.

        `coming` are volumes that would be moved here first, each with a text about the transfer.
        """
        here = [(public_id("vol", row.pk), f"{row.name} · {row.size_gb} GB") for row in volumes]
        away = [(public_id("vol", row.pk), f"{row.name} · {row.size_gb} GB · {words}") for row, words in coming]
        for name, choices in (
            ("volume_ids", here + away),
            ("data_sets", [(row.slug, row.title) for row in data_sets]),
        ):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = choices

    @property
    def mounts(self) -> dict[str, Any]:
        """Return the arguments of `rent_instance` about mounts."""
        ids: list[UUID] = [parse_public_id("vol", text) for text in self.cleaned_data["volume_ids"]]
        return {"volume_ids": ids, "data_sets": self.cleaned_data["data_sets"]}


def _host_label(host: "StorageHost") -> str:
    words = f"{host.region} · {host.name} · {format_money(host.micros_gb_day)} / GB / {_('day')} · {host.disk_free_gb} GB"
    return f"{words} · {_('simulated')}" if host.simulated else words
