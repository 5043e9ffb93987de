"""Reads of written-off hosts."""

from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from marketplace.constants import SETTLED_AGAIN_FOR
from marketplace.models import Host, HostWriteOff
from marketplace.states import HostState


def hosts_not_retired() -> QuerySet[Host]:
    """Return hosts that could be written off, by name."""
    return Host.objects.exclude(state=HostState.RETIRED).order_by("name")


def write_offs_to_settle(now: datetime) -> QuerySet[HostWriteOff]:
    """Return write-offs of which something has still to be ended, oldest first.

    Recently settled ones are checked again: an order may have seen the host alive and been stored late.
    """
    to_settle = Q(settled_at=None) | Q(settled_at__gt=now - SETTLED_AGAIN_FOR)
    return HostWriteOff.objects.filter(to_settle).select_related("host").order_by("at")


def written_off(host_ids: list[UUID]) -> dict[UUID, datetime]:
    """Return those of the hosts that were written off, with their last report."""
    return dict(HostWriteOff.objects.filter(pk__in=host_ids).values_list("pk", "last_seen_at"))


def leftovers_of(host_id: UUID) -> list[UUID]:
    """Return the written-off hosts whose containers may still be on this one."""
    return list(Host.objects.filter(pk=host_id).values_list("leftovers_of", flat=True).first() or [])
