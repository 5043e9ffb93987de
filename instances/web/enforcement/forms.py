"""Forms of the budget page; subjects are those over which the user may set a budget."""

from typing import Any
from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.selectors import owned_team_members, owned_teams
from billing.web.budgets.serializers import PERIODS
from billing.web.teams.forms import read_amount
from common.http.fields import DecimalInput
from instances.core.selectors import instances_in


class BudgetForm(forms.Form):
    over = forms.ChoiceField(label=_("Scope"))
    limit_micros = forms.CharField(label=_("Limit"), max_length=30, widget=DecimalInput())
    period = forms.ChoiceField(
        label=_("Period"), choices=PERIODS, initial="month", help_text=_("Months are counted in UTC.")
    )
    hard = forms.BooleanField(
        label=_("Hard limit: stop instances before it is exceeded"),
        required=False,
        help_text=_("Otherwise you only get alerts at 50%, 80% and 100%, and no instances are stopped."),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["over"].choices = _subjects(user)  # type: ignore[attr-defined]  # a choice field's

    def clean_limit_micros(self) -> int:
        return read_amount(self.cleaned_data["limit_micros"])

    def wanted(self) -> dict[str, Any]:
        """Return the arguments of `set_budget`."""
        scope, _sign, key = self.cleaned_data.pop("over").partition(":")
        return {**self.cleaned_data, "scope": scope, "subject_id": UUID(key)}


class LimitForm(forms.Form):
    limit_micros = forms.CharField(max_length=30)
    hard = forms.BooleanField(required=False)

    def clean_limit_micros(self) -> int:
        return read_amount(self.cleaned_data["limit_micros"])


def _subjects(user: User) -> list[Any]:
    instances = [(f"instance:{instance.pk}", instance.name) for instance in instances_in(user, [])]
    people = [(f"member:{member.pk}", str(member)) for member in owned_team_members(user)]
    teams = [(f"team:{team.pk}", team.name) for team in owned_teams(user)]
    groups = ((_("Instances"), instances), (_("Members of my teams"), people), (_("Whole teams"), teams))
    return [(f"member:{user.pk}", _("all my spending")), *((label, rows) for label, rows in groups if rows)]
