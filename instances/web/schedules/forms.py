"""Forms of the pages about schedules and data retention."""

from datetime import datetime, time
from itertools import count
from typing import Any, Final
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.utils.translation import gettext_lazy as _

from instances.constants import IDLE_MINUTES, KEEP_DAYS, WEEKLY_AT_MOST
from instances.models import Instance
from instances.schedules.recurrence import Entry, is_zone
from instances.schedules.settings import IdleRule, SettingsChange, Week

DAY_LABELS: Final = (_("Mon"), _("Tue"), _("Wed"), _("Thu"), _("Fri"), _("Sat"), _("Sun"))
_DAYS: Final = [(str(number), word) for number, word in enumerate(DAY_LABELS)]
_ACTIONS: Final = (("", "–"), ("start", _("Start")), ("stop", _("Stop")))
_LOCAL: Final = "%Y-%m-%dT%H:%M"
_ROWS_AT_LEAST: Final = 2
_FIRST_PCT, _FIRST_MINUTES = 5, 30


class _LocalTime(forms.DateTimeInput):
    input_type = "datetime-local"


class ScheduleForm(forms.Form):
    """Timers and week in one time zone, idle rule and lock; empty rows of the week are ignored."""

    time_zone = forms.CharField(label=_("Time zone"), max_length=64)
    stop_at = forms.CharField(label=_("Stop at"), required=False, widget=_LocalTime)
    release_at = forms.CharField(label=_("Release at"), required=False, widget=_LocalTime)
    idle = forms.BooleanField(label=_("Stop when idle"), required=False)
    below_pct = forms.IntegerField(label=_("Usage below (%)"), min_value=1, max_value=100, required=False)
    minutes = forms.IntegerField(
        label=_("For (minutes)"), min_value=IDLE_MINUTES[0], max_value=IDLE_MINUTES[1], required=False
    )
    locked = forms.BooleanField(label=_("Release protection"), required=False)

    def __init__(self, params: Any, *, instance: Instance, zone: str) -> None:
        """Build the rows of the week.

        Unbound, it shows the present settings, with times in the instance's zone, or else in `zone`, the reader's.
        """
        self.zone = instance.time_zone or (zone if is_zone(zone) else "UTC")
        super().__init__(params, initial=_shown(instance, self.zone))
        rows = len(instance.weekly) if params is None else _rows_sent(params)
        self.row_count = max(_ROWS_AT_LEAST, rows + (params is None))
        for number in range(self.row_count):
            row = instance.weekly[number] if params is None and number < len(instance.weekly) else {}
            self._add_row(number, row)

    def _add_row(self, number: int, row: dict[str, Any]) -> None:
        days = [str(day) for day in row.get("days", ())]
        self.fields[f"week-{number}-action"] = forms.ChoiceField(
            choices=_ACTIONS, required=False, initial=row.get("action", ""), label=_("Action")
        )
        self.fields[f"week-{number}-time"] = forms.TimeField(
            required=False,
            initial=row.get("time", ""),
            label=_("Time"),
            widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
        )
        self.fields[f"week-{number}-days"] = forms.MultipleChoiceField(
            choices=_DAYS, required=False, initial=days, label=_("Days"), widget=forms.CheckboxSelectMultiple
        )

    @property
    def zones(self) -> list[str]:
        return sorted(name for name in available_timezones() if "/" in name or name == "UTC")

    @property
    def week_rows(self) -> list[dict[str, Any]]:
        """Return the fields of the week's rows, for the template."""
        parts = ("action", "time", "days")
        return [{part: self[f"week-{number}-{part}"] for part in parts} for number in range(self.row_count)]

    def clean_time_zone(self) -> str:
        name = str(self.cleaned_data["time_zone"])
        if not is_zone(name):
            raise forms.ValidationError(_("Enter a time zone, such as Europe/Berlin or Asia/Shanghai."))
        return name

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        for name in ("stop_at", "release_at"):
            data[name] = self._moment(name, data.get(name, ""), data.get("time_zone", "UTC"))
        if data.get("idle") and not (data.get("below_pct") and data.get("minutes")):
            self.add_error("idle", _("Enter the usage threshold and the duration."))
        return data

    def _moment(self, name: str, text: str, zone: str) -> datetime | None:
        if not text:
            return None
        try:
            return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))
        except ValueError:
            self.add_error(name, _("Enter a date and time."))
            return None

    @property
    def change(self) -> SettingsChange:
        data = self.cleaned_data
        entries = [entry for number in range(self.row_count) if (entry := self._entry(number)) is not None]
        return SettingsChange(
            {
                "stop_at": data["stop_at"],
                "release_at": data["release_at"],
                "week": Week(entries, data["time_zone"]),
                "idle": IdleRule(data["below_pct"], data["minutes"]) if data["idle"] else None,
                "locked": data["locked"],
            }
        )

    def _entry(self, number: int) -> Entry | None:
        action, at = self.cleaned_data[f"week-{number}-action"], self.cleaned_data[f"week-{number}-time"]
        if not action or at is None:
            return None
        days = tuple(int(day) for day in self.cleaned_data[f"week-{number}-days"])
        return Entry(action, days, time(at.hour, at.minute))


class KeepForm(forms.Form):
    """How many days longer, and the fee that was shown."""

    days = forms.TypedChoiceField(choices=[(days, str(days)) for days in KEEP_DAYS], coerce=int)
    max_fee = forms.CharField(max_length=30)


def _rows_sent(params: Any) -> int:
    return next(number for number in count() if f"week-{number}-action" not in params or number == WEEKLY_AT_MOST)


def _shown(instance: Instance, zone: str) -> dict[str, Any]:
    here = ZoneInfo(zone)
    stop, release = instance.timed_stop_at, instance.timed_release_at
    return {
        "time_zone": zone,
        "stop_at": stop and f"{stop.astimezone(here):{_LOCAL}}",
        "release_at": release and f"{release.astimezone(here):{_LOCAL}}",
        "idle": instance.idle_minutes is not None,
        "below_pct": instance.idle_below_pct or _FIRST_PCT,
        "minutes": instance.idle_minutes or _FIRST_MINUTES,
        "locked": instance.locked,
    }
