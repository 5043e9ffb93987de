"""Banners on top of every console page: wallet standing, data about to be deleted, budgets, alerts."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.web.decorators import SignedInRequest, login_required_page
from billing.budgets.selectors import highest_notices_of
from billing.constants import RELEASE_TOLD_DAYS
from billing.standing.selectors import standing_of
from billing.states import StandingState
from common import clock
from common.http.origin import page_from_header
from instances.core.selectors import data_ending
from instances.retention.selectors import archive_name
from instances.web.monitoring.context import alert_rows
from storage.volumes.selectors import storage_ending

# How many banners are unfolded; on a phone, more would push the page itself out of sight.
_SHOWN: Final = 2
_TOLD: Final = (StandingState.LOW, StandingState.EXHAUSTED)


@dataclass(frozen=True)
class _Notice:
    """One banner: its kind, and the object that it is about."""

    kind: str
    it: object
    place: str = ""  # where data that is about to be deleted is archived first


@require_safe
@login_required_page
def banners(request: SignedInRequest) -> HttpResponse:
    now, within = clock.now(), timedelta(days=max(RELEASE_TOLD_DAYS))
    standing = standing_of(owner_id=request.user.pk)
    alerts = [] if _shows_alerts(request) else alert_rows(request.user)
    found = [_Notice(standing.state, standing)] if standing.state in _TOLD else []
    ending = data_ending(request.user, now=now, within=within)
    found += [_Notice("ending", instance, archive_name(instance)) for instance in ending]
    found += [_Notice("unpaid", row) for row in storage_ending(now=now, within=within, owner_id=request.user.pk)]
    found += [_Notice("budget", mark) for mark in highest_notices_of(person_id=request.user.pk, now=now)]
    found += [_Notice("alerts", alerts)] if alerts else []
    return render(request, "instances/_banners.html", {"shown": found[:_SHOWN], "folded": found[_SHOWN:]})


def _shows_alerts(request: SignedInRequest) -> bool:
    """Return whether the page under the banner shows the alerts itself."""
    path = page_from_header(request, "HX-Current-URL").path
    return path.startswith((reverse("activity"), reverse("instances") + "/"))
