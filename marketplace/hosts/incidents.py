"""Incidents: differences that no rule explains, one open row for each kind and subject."""

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import override

from common import clock
from common.messages.message import MalformedParameter, Message, stored
from common.messages.rendering import plain
from marketplace.models import Incident


def open_incident(*, kind: str, subject: str, detail: Message) -> None:
    """Open an incident, unless one of this kind and subject is open."""
    Incident.objects.bulk_create(
        [Incident(kind=kind[:40], subject=subject[:120], **_columns(detail))], ignore_conflicts=True
    )


def extend_incident(*, kind: str, subject: str, detail: Message, text: str) -> None:
    """Replace the detail of the open incident, or open one; `text` is its whole list in English."""
    open_ones = Incident.objects.filter(kind=kind[:40], subject=subject[:120], closed_at__isnull=True)
    if not open_ones.exists():
        open_incident(kind=kind, subject=subject, detail=detail)
    open_ones.update(detail=text, message=detail)


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


def _columns(detail: Message) -> dict[str, Any]:
    """Return the values of both columns; the English one has no length that would cut the text off.

    A message that is too large or nested too deeply, with what an agent said in it, is kept as English alone.
    """
    with override("en"):
        text = plain(detail)
    try:
        stored(detail)
    except MalformedParameter:
        return {"detail": text, "message": None}
    return {"detail": text, "message": detail}
