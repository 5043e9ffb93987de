"""Events of all instances of a renter, in words and by groups, below the open alerts."""

from typing import Any, Final
from uuid import UUID

from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from common.errors import NotFound, wrong_field
from common.ids import parse_public_id, public_id
from instances.core.event_selectors import events_in
from instances.core.selectors import instances_of
from instances.models import InstanceEvent
from instances.web.context import EVENT_LABELS
from instances.web.monitoring.context import alert_rows

ON_A_PAGE: Final = 50
Words = str | Promise

GROUPS: Final[dict[str, Words]] = {
    "life": _("Start, stop, changes"),
    "alerts": _("Alerts"),
    "money": _("Billing and terms"),
    "spot": _("Spot"),
    "access": _("Access"),
    "host": _("Host"),
}
# By the beginning of an event's kind; all other kinds belong to the group of the life cycle.
_BEGINNINGS: Final[dict[str, tuple[str, ...]]] = {
    "alerts": ("alert_",),
    "money": ("convert", "renew", "auto_renew", "term_", "funds_", "keeping_", "given_back"),
    "spot": ("bid_", "preempt", "waits_for_gpus"),
    "access": ("keys_", "password_", "addresses_", "ports_"),
    "host": ("maintenance_", "foreign", "overdue"),
}


def group_of(kind: str) -> str:
    return next((name for name, starts in _BEGINNINGS.items() if kind.startswith(starts)), "life")


def in_group(events: QuerySet[InstanceEvent], group: str) -> QuerySet[InstanceEvent]:
    """Return the events of a group, or raise InvalidInput for an unknown one."""
    if group not in GROUPS:
        raise wrong_field("group", f"Choose from {', '.join(GROUPS)}.")
    if group == "life":
        return events.exclude(_begins_like(*_BEGINNINGS))
    return events.filter(_begins_like(group))


def _begins_like(*groups: str) -> Q:
    fits = Q()
    for start in (start for group in groups for start in _BEGINNINGS[group]):
        fits |= Q(kind__startswith=start)
    return fits


def timeline_context(renter: User, *, instance: str, group: str, page: str | None) -> dict[str, Any]:
    """Return the context of the activity page; an unknown instance or group filters nothing."""
    mine = list(instances_of(renter).order_by("-created_at")[:200])
    chosen = next((row for row in mine if public_id("inst", row.pk) == instance), None)
    events = events_in(renter, instance_id=chosen.pk if chosen else None)
    found = Paginator(in_group(events, group) if group in GROUPS else events, ON_A_PAGE).get_page(page)
    return {
        "page": found,
        "rows": [_row(event) for event in found],
        "alerts": alert_rows(renter, chosen),
        "instances": mine,
        "instance": instance if chosen else "",
        "groups": GROUPS,
        "group": group if group in GROUPS else "",
    }


def _row(event: InstanceEvent) -> dict[str, Any]:
    words = EVENT_LABELS.get(event.kind, event.kind.replace("_", " "))
    group = group_of(event.kind)
    return {"event": event, "words": words, "group": GROUPS[group], "is_special": group != "life"}


def instance_id_in(text: str) -> UUID | None:
    """Parse the instance of a filter; a malformed id is a wrong field, not a missing object."""
    try:
        return parse_public_id("inst", text) if text else None
    except NotFound as error:
        raise wrong_field("instance", error.detail) from error
