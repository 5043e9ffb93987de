"""Host owners' page of earnings, and its CSV."""

import csv
from datetime import datetime

from django import forms
from django.http import HttpRequest, HttpResponse

from accounts.web.decorators import SignedInRequest, login_required_page
from common import clock
from common.errors import InvalidInput
from common.http.fields import DayField
from common.http.htmx import render
from instances.earnings.periods import Period, parse_period, this_month
from instances.web.earnings.context import GROUPING_LABELS, earnings_context, earnings_table


class SpanForm(forms.Form):
    """Period and grouping from the address; wrong values are ignored."""

    since = DayField(required=False)
    until = DayField(required=False)
    by = forms.ChoiceField(required=False, choices=[(name, name) for name in GROUPING_LABELS])


@login_required_page
def earnings(request: SignedInRequest) -> HttpResponse:
    now = clock.now()
    span, by = _period_and_grouping(request, now)
    context = earnings_context(request.user.pk, span, by, now=now)
    return render(request, page="instances/earnings.html", part="instances/_earnings.html", context=context)


@login_required_page
def earnings_csv(request: SignedInRequest) -> HttpResponse:
    span, by = _period_and_grouping(request, clock.now())
    reply = HttpResponse(content_type="text/csv; charset=utf-8")
    reply["Content-Disposition"] = f'attachment; filename="earnings-{by}-{span.since}-{span.until}.csv"'
    csv.writer(reply).writerows(earnings_table(request.user.pk, span, by))
    return reply


def _period_and_grouping(request: HttpRequest, now: datetime) -> tuple[Period, str]:
    form = SpanForm(request.GET)
    form.is_valid()
    found = form.cleaned_data
    by = found.get("by") or "gpu"
    if not (found.get("since") or found.get("until")):
        return this_month(now.date()), by
    try:
        return parse_period(since=found.get("since"), until=found.get("until"), today=now.date()), by
    except InvalidInput:
        return this_month(now.date()), by
