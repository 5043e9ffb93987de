"""Write-offs of hosts: besides proof by their agent, the only way in which their leases end (D2)."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from common import clock
from common.printable import Printable, PrintableField
from marketplace.models.hosts import Host


class HostWriteOff(models.Model):
    """Decision to write a host off, with its reason.

    It is never changed or revoked; only its settlement is recorded.
    """

    host = models.OneToOneField(
        Host, on_delete=models.PROTECT, primary_key=True, related_name="write_off", verbose_name=_("host")
    )
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", verbose_name=_("decided by")
    )
    reason = PrintableField(_("reason"), max_length=300)
    last_seen_at = models.DateTimeField(_("last report"), help_text=_("Nothing is charged for the time after it."))
    at = models.DateTimeField(_("time"), default=clock.now)
    settled_at = models.DateTimeField(
        _("settled at"), null=True, blank=True, help_text=_("Nothing of the host's is left to be ended.")
    )

    class Meta:
        verbose_name = _("write-off")
        verbose_name_plural = _("write-offs")
        ordering = ("-at",)
        constraints: ClassVar = [
            Printable(column="reason", name="write_off_reason_is_printable"),
            models.CheckConstraint(condition=~Q(reason=""), name="write_off_says_why"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["at"], condition=Q(settled_at__isnull=True), name="write_off_to_settle"),
        ]

    def __str__(self) -> str:
        return str(self.host)
