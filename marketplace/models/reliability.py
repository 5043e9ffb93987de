"""Self-tests, announced maintenance, and the ledger of events that reliability is computed from."""

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from common import clock
from common.ids import new_uuid
from common.printable import Printable, PrintableField
from marketplace.models.hosts import Host
from marketplace.states import MaintenanceCategory, MeasurementKind, ReliabilityKind, Verdict


class SelfTest(models.Model):
    """One run of the agent's checks on a host.

    `checks` holds an `evaluated_check` (self_tests/requirements) for each finding.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="self_tests", verbose_name=_("host"))
    asked_at = models.DateTimeField(_("requested at"), default=clock.now)
    asked_by = models.CharField(_("requested by"), max_length=80)
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)
    verdict = models.CharField(_("verdict"), max_length=10, choices=Verdict, default=Verdict.PENDING)
    checks = models.JSONField(_("checks"), default=list)
    simulated = models.BooleanField(
        _("simulated"), default=False, help_text=_("Some of the data was simulated, not measured.")
    )
    hardware = models.CharField(
        _("hardware"), max_length=64, blank=True, help_text="Digest of the GPUs and the driver that it tested."
    )
    seconds = models.FloatField(_("seconds"), default=0)
    agent_version = models.CharField(_("agent version"), max_length=20, blank=True)

    class Meta:
        verbose_name = _("self-test")
        verbose_name_plural = _("self-tests")
        ordering = ("-asked_at", "-id")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["host"], condition=Q(verdict="pending"), name="one_pending_self_test_per_host")
        ]
        indexes: ClassVar = [models.Index(fields=["host", "-asked_at"], name="self_test_of_host")]

    def __str__(self) -> str:
        return str(self.id)


class Measurement(models.Model):
    """One measurement of a host's disk or network.

    `stamp` is the agent's own time, which tells measurements apart.
    """

    id = models.BigAutoField(primary_key=True)
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="measurements")
    kind = models.CharField(max_length=7, choices=MeasurementKind)
    stamp = models.BigIntegerField()
    at = models.DateTimeField()
    in_mbps = models.PositiveIntegerField(help_text="Disk: read, MB/s. Network: down, Mbit/s.")
    out_mbps = models.PositiveIntegerField(help_text="Disk: written, MB/s. Network: up, Mbit/s.")

    class Meta:
        ordering = ("-at", "-id")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["host", "kind", "stamp"], name="one_measurement_per_moment")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.in_mbps}/{self.out_mbps}"


class Maintenance(models.Model):
    """Period that the host owner announced: outages in it do not count against the host."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="maintenances", verbose_name=_("host"))
    category = models.CharField(_("category"), max_length=10, choices=MaintenanceCategory)
    detail = PrintableField(_("detail"), max_length=300, blank=True)
    announced_at = models.DateTimeField(_("announced"), default=clock.now)
    starts_at = models.DateTimeField(_("from"))
    ends_at = models.DateTimeField(_("until"))
    cancelled_at = models.DateTimeField(_("cancelled"), null=True, blank=True)
    # What the sweeps have done about it.
    begun_at = models.DateTimeField(_("begun at"), null=True, blank=True)
    over_at = models.DateTimeField(_("ended at"), null=True, blank=True)
    drained = models.BooleanField(
        _("closed to new rentals"), default=False, help_text="New rents were stopped for it, and come back at its end."
    )
    told_at = models.DateTimeField(
        _("announced at"), null=True, blank=True, help_text="When the renters there were told; empty: to be told."
    )

    class Meta:
        verbose_name = _("maintenance")
        verbose_name_plural = _("maintenance")
        ordering = ("starts_at", "id")
        constraints: ClassVar = [
            Printable(column="detail", name="maintenance_detail_is_printable"),
            models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="maintenance_ends_after_start"),
        ]

    def __str__(self) -> str:
        return f"{self.category} {self.starts_at:%Y-%m-%d %H:%M}"


class ReliabilityEvent(models.Model):
    """Entry of a host's public ledger; an outage has an end, other kinds are moments."""

    id = models.BigAutoField(primary_key=True)
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="reliability_events", verbose_name=_("host"))
    kind = models.CharField(_("kind"), max_length=14, choices=ReliabilityKind)
    subject = models.UUIDField(_("subject"), null=True, blank=True, help_text="The run that it hit, opaque here.")
    starts_at = models.DateTimeField(_("from"))
    ends_at = models.DateTimeField(_("until"), null=True, blank=True)
    detail = models.CharField(
        _("detail"), max_length=300, blank=True, help_text="Public: a failure's code, never a renter's words."
    )

    class Meta:
        verbose_name = _("reliability event")
        verbose_name_plural = _("reliability ledger")
        ordering = ("-starts_at", "-id")
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["host"], condition=Q(kind="outage", ends_at__isnull=True), name="one_open_outage_per_host"
            ),
            models.UniqueConstraint(
                fields=["host", "kind", "subject"],
                condition=Q(subject__isnull=False),
                name="one_reliability_event_per_subject",
            ),
            models.CheckConstraint(
                condition=Q(ends_at__isnull=True) | Q(ends_at__gte=F("starts_at")), name="reliability_event_ends_after_start"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["host", "-starts_at"], name="reliability_of_host"),
            models.Index(fields=["starts_at"], name="reliability_by_start"),
            models.Index(fields=["ends_at"], condition=Q(kind="outage"), name="outage_by_end"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.starts_at:%Y-%m-%d %H:%M:%S}"
