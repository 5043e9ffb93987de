"""Page of spending: bars by day, and a table by day, mode or source."""

from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe
from rest_framework.exceptions import ValidationError

from accounts.web.decorators import SignedInRequest, login_required_page
from billing.statements.spending_report import spending_report
from billing.web.ledger.seal_serializers import SpendIn
from common import clock
from common.errors import InvalidInput
from common.http.htmx import render
from common.http.views import validated

GROUPINGS = (("day", _("Day")), ("mode", _("Mode")), ("source", _("Instance")))


@require_safe
@login_required_page
def spend(request: SignedInRequest) -> HttpResponse:
    """Show the page of spending; an unreadable range shows the last days."""
    nothing = {"since": None, "until": None, "by": "day"}
    try:
        query = validated(SpendIn, {name: value for name, value in request.GET.items() if value})
        spending = spending_report(request.user.pk, now=clock.now(), **query)
    except (InvalidInput, ValidationError):
        spending = spending_report(request.user.pk, now=clock.now(), **nothing)  # type: ignore[arg-type]  # by is "day"
    context = {"spending": spending, "groupings": GROUPINGS}
    return render(request, page="billing/spend.html", part="billing/_spend.html", context=context)
