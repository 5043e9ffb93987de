"""Fault reports of renters about instances that their host reports as running."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from common import clock
from common.ids import new_uuid
from common.printable import Printable, PrintableField
from instances.models.instances import Instance
from instances.states import ReportVerdict


class FaultReport(models.Model):
    """A renter's report that a running instance does not work; staff decide it."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    instance = models.ForeignKey(
        Instance, on_delete=models.PROTECT, related_name="fault_reports", verbose_name=_("instance")
    )
    run_generation = models.PositiveIntegerField(_("run generation"))
    detail = PrintableField(_("detail"), max_length=300)
    began_at = models.DateTimeField(_("running since"))
    opened_at = models.DateTimeField(_("opened at"), default=clock.now)
    verdict = models.CharField(_("verdict"), max_length=8, choices=ReportVerdict, default=ReportVerdict.OPEN)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("decided by"),
    )
    closed_at = models.DateTimeField(_("closed at"), null=True, blank=True)

    class Meta:
        verbose_name = _("fault report")
        verbose_name_plural = _("fault reports")
        ordering = ("-opened_at",)
        constraints: ClassVar = [
            Printable(column="detail", name="fault_report_is_printable"),
            models.UniqueConstraint(fields=["instance", "run_generation"], name="one_fault_report_of_run"),
            models.CheckConstraint(
                condition=Q(verdict="open", closed_at__isnull=True) | ~Q(verdict="open") & Q(closed_at__isnull=False),
                name="fault_report_closed_when_decided",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.instance} {self.opened_at:%Y-%m-%d %H:%M}"
