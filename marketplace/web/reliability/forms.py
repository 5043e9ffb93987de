"""Form for announcing maintenance."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django import forms
from django.utils.functional import lazy
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from common.http.fields import NameField
from marketplace.constants import MAINTENANCE_LONGEST
from marketplace.states import MaintenanceCategory

_MOST_HOURS: Final = int(MAINTENANCE_LONGEST.total_seconds()) // 3600
_FARTHEST_ZONE_MIN: Final = 14 * 60
_CATEGORIES: Final = [(value, lazy(capfirst, str)(label)) for value, label in MaintenanceCategory.choices]


def _lengths() -> list[tuple[int, str]]:
    """Return the choices in the language of the request: what is worded at import is English for everyone."""
    return [(n, ngettext("%(count)d hour", "%(count)d hours", n) % {"count": n}) for n in range(1, _MOST_HOURS + 1)]


class MaintenanceForm(forms.Form):
    """Form with times in the reader's own zone.

    The page's script sends the offset from UTC; without it, times are UTC.
    """

    category = forms.ChoiceField(label=_("Reason"), choices=_CATEGORIES)
    starts_at = forms.DateTimeField(
        label=_("Starts at"),
        input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S"],
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "data-zoned": ""}, format="%Y-%m-%dT%H:%M"),
        help_text=_("At least 24 hours from now."),
    )
    hours = forms.TypedChoiceField(
        label=_("Duration"),
        coerce=int,
        choices=_lengths,
        initial=2,
    )
    detail = NameField(
        label=_("Note for renters"), max_length=300, required=False, help_text=_("Public: everyone can see this.")
    )
    zone_offset = forms.IntegerField(
        required=False, min_value=-_FARTHEST_ZONE_MIN, max_value=_FARTHEST_ZONE_MIN, widget=forms.HiddenInput
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if {"starts_at", "hours"} <= data.keys():
            try:
                begins: datetime = data["starts_at"].replace(tzinfo=UTC)
                data["begins"] = begins + timedelta(minutes=data.get("zone_offset") or 0)
                data["ends"] = data["begins"] + timedelta(hours=data["hours"])
            except OverflowError:
                self.add_error("starts_at", _("Enter a date in the near future."))
        return data

    def announcement(self) -> dict[str, Any]:
        """Return the service's arguments, in UTC."""
        data = self.cleaned_data
        return {
            "category": data["category"],
            "starts_at": data["begins"],
            "ends_at": data["ends"],
            "detail": data["detail"],
        }
