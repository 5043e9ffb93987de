"""What a host proved and what befell it: self-tests, announced maintenance, the ledger that reliability is computed from."""

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from common import clock
from common.ids import new_uuid
from marketplace.models.hosts import Host
from marketplace.states import MaintenanceCategory, ReliabilityKind, Verdict


class SelfTest(models.Model):
    """One run of the agent's checks on a host. `checks` are `[{"id", "passed", "actual", "required", "remedy"}, …]`."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="self_tests")
    asked_at = models.DateTimeField(default=clock.now)
    asked_by = models.CharField(max_length=80)
    finished_at = models.DateTimeField(null=True, blank=True)
    verdict = models.CharField(_("verdict"), max_length=10, choices=Verdict, default=Verdict.PENDING)
    checks = models.JSONField(default=list)
    agent_version = models.CharField(max_length=20, blank=True)

    class Meta:
        ordering = ("-asked_at", "-id")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["host"], condition=Q(verdict="pending"), name="one_pending_self_test_per_host")
        ]

    def __str__(self) -> str:
        return f"self-test {self.id} {self.verdict}"


class Maintenance(models.Model):
    """A window that the host owner announced: what happens inside it does not count against the host."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="maintenances")
    category = models.CharField(_("category"), max_length=10, choices=MaintenanceCategory)
    detail = models.CharField(_("detail"), max_length=300, blank=True)
    announced_at = models.DateTimeField(default=clock.now)
    starts_at = models.DateTimeField(_("from"))
    ends_at = models.DateTimeField(_("until"))
    cancelled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("starts_at", "id")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="maintenance_ends_after_start")
        ]

    def __str__(self) -> str:
        return f"{self.category} {self.starts_at:%Y-%m-%d %H:%M}"


class ReliabilityEvent(models.Model):
    """One entry of a host's public ledger. An outage has an end; the other kinds are moments."""

    id = models.BigAutoField(primary_key=True)
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="reliability_events")
    kind = models.CharField(max_length=14, choices=ReliabilityKind)
    subject = models.UUIDField(null=True, blank=True, help_text="The holder that it hit, opaque here.")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True, blank=True)
    maintenance = models.ForeignKey(Maintenance, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    detail = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ("-starts_at", "-id")
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["host"], condition=Q(kind="outage", ends_at__isnull=True), name="one_open_outage_per_host"
            ),
            models.UniqueConstraint(
                fields=["host", "kind", "subject", "starts_at"],
                condition=Q(subject__isnull=False),
                name="one_reliability_event_per_subject_and_moment",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["host", "-starts_at"], name="reliability_of_host")]

    def __str__(self) -> str:
        return f"{self.kind} {self.starts_at:%Y-%m-%d %H:%M:%S}"
