"""Reads of incidents that wait for a person."""

from django.db.models import QuerySet

from marketplace.models import Incident


def open_incidents() -> QuerySet[Incident]:
    return Incident.objects.filter(closed_at__isnull=True).order_by("-id")
