"""Host earnings kept until staff have decided about a renter's report."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from common import clock
from common.ids import new_uuid


class Holdback(models.Model):
    """Report under review: while it is open, earnings from the source are not paid out."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    source_kind = models.CharField(max_length=20)
    source_id = models.UUIDField()
    opened_at = models.DateTimeField(default=clock.now)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["source_kind", "source_id"], condition=Q(closed_at__isnull=True), name="one_open_holdback_of_source"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["owner"], condition=Q(closed_at__isnull=True), name="holdback_open"),
        ]

    def __str__(self) -> str:
        return f"{self.source_kind} {self.source_id}"
