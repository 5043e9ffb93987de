"""Form of the statement page: time, kind, source, and grouping."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy as _

from billing.calendar_months import midnight
from billing.ledger_label_translations import ledger_label
from common.errors import NotFound
from common.http.fields import DayField
from common.ids import parse_public_id, public_id

_KINDS = (
    ("", _("all types")),
    ("charge", _("usage")),
    ("refund", _("refund")),
    ("top_up", _("top-up")),
    ("card_refund", _("refund to the card")),
    ("coupon", _("coupon")),
    ("bonus", _("used bonus of a refunded top-up")),
    ("prepaid", _("reserved term")),
    ("exit_fee", _("early termination")),
    ("credit", _("account credit")),
    ("transfer", _("transfer")),
    ("dispute", _("dispute")),
)
_BUCKETS = (
    ("", _("every entry")),
    ("hour", _("by hour")),
    ("day", _("by day")),
    ("month", _("by month")),
    ("all", _("in total")),
)


class StatementForm(forms.Form):
    """Filters of the statement; days are whole days in UTC, both included.

    A field that is not valid shows an error and filters nothing.
    """

    day_from = DayField(label=_("From day"), required=False)
    day_to = DayField(label=_("To day"), required=False)
    kind = forms.ChoiceField(label=_("Kind"), choices=_KINDS, required=False)
    source = forms.ChoiceField(label=_("Item"), required=False)
    group = forms.ChoiceField(label=_("Group"), choices=_BUCKETS, required=False)
    by_source = forms.BooleanField(label=_("Group by instance"), required=False)

    def __init__(self, *args: Any, sources: Sequence[tuple[UUID, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        named = [(public_id("inst", key), f"{ledger_label(label)} · {key.hex[-6:]}") for key, label in sources]
        source = self.data.get("source", "")
        if source and source not in dict(named):  # from a link of an instance that is not among the latest
            named.append((source, source))
        self.fields["source"].choices = [("", _("everything")), *named]  # type: ignore[attr-defined]  # a ChoiceField

    def clean_source(self) -> UUID | None:
        text = self.cleaned_data["source"]
        try:
            return parse_public_id("inst", text) if text else None
        except NotFound as error:
            raise forms.ValidationError(error.detail) from error

    @property
    def is_grouped(self) -> bool:
        return bool(self._valid_data().get("group"))

    def filters(self) -> dict[str, Any]:
        """Return the arguments for `statement_lines` and `statement_groups`."""
        data = self._valid_data()
        last: date | None = data.get("day_to")
        return {
            "since": midnight(data.get("day_from")),
            "until": midnight(last + timedelta(days=1) if last else None),
            "source": data.get("source"),
            "entry_kind": data.get("kind") or None,
        }

    def grouping(self) -> dict[str, Any]:
        data = self._valid_data()
        return {"bucket": data.get("group") or "", "by_source": bool(data.get("by_source"))}

    def _valid_data(self) -> dict[str, Any]:
        self.is_valid()
        return getattr(self, "cleaned_data", {})
