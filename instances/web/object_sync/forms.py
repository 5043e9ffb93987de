"""Forms of the object-storage pages."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from common.http.fields import NameField
from common.ids import parse_public_id
from instances.object_sync.schedules import HOURS_MAX, SyncOrder, SyncRecurrence
from instances.schedules.recurrence import is_zone
from instances.web.object_sync.request_parsing import parse_disk
from instances.web.schedules.forms import DAY_LABELS
from storage.object_sync.syncs import SyncRequest

_PLAIN = {"autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"}
_DAYS = [(str(number), word) for number, word in enumerate(DAY_LABELS)]


class LoginForm(forms.Form):
    """A new access key for the same bucket."""

    key_id = forms.CharField(label=_("Access key ID"), max_length=200, widget=forms.TextInput(attrs=_PLAIN))
    secret = forms.CharField(
        label=_("Secret access key"),
        max_length=200,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=_(
            "Tested immediately, stored encrypted, and shared only with the host that copies. Use a key"
            " limited to this bucket."
        ),
    )


class ConnectionForm(LoginForm):
    """A place in object storage."""

    name = NameField(label=_("Name"), max_length=60, help_text=_("A name for your reference, such as “backups”."))
    endpoint = forms.CharField(
        label=_("Endpoint"),
        max_length=300,
        help_text=_(
            "For example, s3.eu-central-1.amazonaws.com, oss-cn-beijing.aliyuncs.com, or your own MinIO at a public address."
        ),
        widget=forms.TextInput(attrs=_PLAIN),
    )
    region = forms.CharField(
        label=_("Region"),
        max_length=60,
        required=False,
        help_text=_("Leave blank to use us-east-1."),
        widget=forms.TextInput(attrs=_PLAIN),
    )
    bucket = forms.CharField(label=_("Bucket"), max_length=63, widget=forms.TextInput(attrs=_PLAIN))
    root_folder = forms.CharField(
        label=_("Folder in the bucket"),
        max_length=300,
        required=False,
        help_text=_("Leave blank to sync everything."),
        widget=forms.TextInput(attrs=_PLAIN),
    )
    field_order = ("name", "endpoint", "region", "bucket", "root_folder", "key_id", "secret")

    @property
    def order(self) -> dict[str, str]:
        """Return the arguments of `check_connection`."""
        data = dict(self.cleaned_data)
        del data["name"]
        return {"prefix": data.pop("root_folder"), **data}


class SyncForm(forms.Form):
    """A sync that starts now, or a schedule."""

    source = forms.ChoiceField(label=_("Disk"))
    connection = forms.ChoiceField(label=_("Object storage"))
    direction = forms.ChoiceField(
        label=_("Direction"), choices=[("up", _("Disk → object storage")), ("down", _("Object storage → disk"))]
    )
    path = forms.CharField(
        label=_("Folder on the disk"),
        max_length=300,
        required=False,
        help_text=_("Leave blank to sync everything."),
        widget=forms.TextInput(attrs=_PLAIN),
    )
    folder = forms.CharField(
        label=_("Folder in object storage"),
        max_length=300,
        required=False,
        help_text=_("Relative to the connection's folder."),
        widget=forms.TextInput(attrs=_PLAIN),
    )
    delete_extra = forms.BooleanField(
        label=_("Delete files at the destination that the source doesn't have"), required=False
    )
    repeat = forms.ChoiceField(
        label=_("How often"),
        choices=[("once", _("Once, now")), ("hours", _("Every few hours")), ("days", _("On selected days"))],
    )
    every_hours = forms.IntegerField(
        label=_("Interval in hours"), min_value=1, max_value=HOURS_MAX, required=False, initial=24
    )
    days = forms.MultipleChoiceField(
        label=_("Days"),
        choices=_DAYS,
        required=False,
        initial=[str(day) for day in range(7)],
        widget=forms.CheckboxSelectMultiple,
    )
    at = forms.TimeField(
        label=_("Time"), required=False, initial="03:00", widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
    )
    time_zone = forms.CharField(label=_("Time zone"), max_length=64, required=False, initial="UTC")

    def __init__(
        self, *args: Any, sources: list[tuple[str, str]], connections: list[tuple[str, str]], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        for name, choices in (("source", sources), ("connection", connections)):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = choices

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        repeat = data.get("repeat")
        if repeat == "hours" and not data.get("every_hours"):
            self.add_error("every_hours", _("Enter the number of hours."))
        if repeat == "days" and not (data.get("days") and data.get("at")):
            self.add_error("days", _("Choose the days and a time."))
        if repeat == "days" and not is_zone(data.get("time_zone", "")):
            self.add_error("time_zone", _("Enter a time zone, such as Europe/Berlin or Asia/Shanghai."))
        return data

    @property
    def order(self) -> SyncOrder:
        """Return the arguments of `start_or_schedule` besides the recurrence."""
        data = self.cleaned_data
        which = "volume" if data["source"].startswith("vol_") else "instance"
        kind, subject_id = parse_disk({which: data["source"]})
        return {
            "subject_kind": kind,
            "subject_id": subject_id,
            "connection_id": parse_public_id("conn", data["connection"]),
            "sync_request": SyncRequest(data["direction"], data["path"], data["folder"], data["delete_extra"]),
        }

    @property
    def rhythm(self) -> SyncRecurrence | None:
        """Return the recurrence, or None for a sync that starts now."""
        data = self.cleaned_data
        if data["repeat"] == "hours":
            return SyncRecurrence(data["every_hours"])
        if data["repeat"] == "days":
            return SyncRecurrence(None, tuple(int(day) for day in data["days"]), data["at"], data["time_zone"])
        return None
