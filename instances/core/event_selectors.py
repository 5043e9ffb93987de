"""Reads of the events of all instances of a renter."""

from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from accounts.models import User
from instances.models import InstanceEvent


def events_in(
    renter: User, *, instance_id: UUID | None = None, since: datetime | None = None, until: datetime | None = None
) -> QuerySet[InstanceEvent]:
    """Return the events with their instances, newest first."""
    events = InstanceEvent.objects.filter(instance__renter=renter).select_related("instance").order_by("-id")
    if instance_id is not None:
        events = events.filter(instance_id=instance_id)
    if since is not None:
        events = events.filter(at__gte=since)
    return events if until is None else events.filter(at__lt=until)
