"""Incidents: differences that no rule explains, one open row for each kind and subject."""

from django.db.models import QuerySet

from common import clock
from marketplace.models import Incident


def open_incident(*, kind: str, subject: str, detail: str) -> None:
    """Open an incident, unless one of this kind and subject is open."""
    Incident.objects.bulk_create([Incident(kind=kind[:40], subject=subject[:120], detail=detail)], ignore_conflicts=True)


def extend_incident(*, kind: str, subject: str, detail: str) -> None:
    """Replace the detail of the open incident, or open one."""
    told = Incident.objects.filter(kind=kind[:40], subject=subject[:120], closed_at__isnull=True)
    if not told.update(detail=detail):
        open_incident(kind=kind, subject=subject, detail=detail)


def incident_is_open(*, kind: str, subject: str) -> bool:
    return Incident.objects.filter(kind=kind[:40], subject=subject[:120], closed_at__isnull=True).exists()


def close_incident(*, kind: str, subject: str, closed_by: str = "") -> bool:
    """Close the open incident and return whether there was one.

    `closed_by` names who or what closed it, where it is not simply over.
    """
    open_ones = Incident.objects.filter(kind=kind[:40], subject=subject[:120], closed_at__isnull=True)
    return bool(open_ones.update(closed_at=clock.now(), closed_by=closed_by[:80]))


def open_incidents() -> QuerySet[Incident]:
    return Incident.objects.filter(closed_at__isnull=True).order_by("-id")
