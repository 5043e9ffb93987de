"""Filter form of an account's log: kinds, and period."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django import forms
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.models import AccountEvent
from common.http.fields import DayField

# By the part of the kind before its dot.
_GROUPS = (
    ("", _("everything")),
    ("login", _("sign-ins and sessions")),
    ("password", _("password, email, two-factor")),
    ("token", _("API tokens")),
    ("key", _("SSH keys")),
    ("webhook", _("webhooks")),
    ("team", _("teams")),
    ("payout", _("payouts")),
    ("limit", _("limits")),
)
_ALSO = {
    "login": ("signup", "session"),
    "password": ("email", "factor", "profile"),
    "payout": ("payout_account",),
}


class EventForm(forms.Form):
    """Filters for events; days are whole days in UTC, both included.

    A field that is not valid shows an error and filters nothing.
    """

    group = forms.ChoiceField(label=_("What"), choices=_GROUPS, required=False)
    day_from = DayField(label=_("From day"), required=False)
    day_to = DayField(label=_("To day"), required=False)

    def applied(self, events: QuerySet[AccountEvent]) -> QuerySet[AccountEvent]:
        self.is_valid()
        data: dict[str, Any] = getattr(self, "cleaned_data", {})
        if data.get("group"):
            events = events.filter(of_group(data["group"]))
        if data.get("day_from"):
            events = events.filter(at__gte=_midnight(data["day_from"]))
        if data.get("day_to"):
            events = events.filter(at__lt=_midnight(data["day_to"]) + timedelta(days=1))
        return events


def of_group(group: str) -> Q:
    condition = Q()
    for name in (group, *_ALSO.get(group, ())):
        condition |= Q(kind=name) | Q(kind__startswith=f"{name}.")
    return condition


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=UTC)
