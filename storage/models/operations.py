"""Operations: work that a host's agent does beside running containers."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from common import clock
from common.ids import new_uuid
from common.messages.message import Message, MessageField, of_row
from storage.states import OperationState


class Operation(models.Model):
    """One piece of work on one host, such as a snapshot or a copy.

    `subject` is the instance or volume that it works on. The agent receives it while it is waiting or running. Its
    result is applied once; `concluded_at` is set then.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    host = models.ForeignKey("marketplace.Host", on_delete=models.PROTECT, related_name="operations")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="operations")
    kind = models.CharField(_("kind"), max_length=24)
    subject = models.UUIDField()
    args = models.JSONField(default=dict, help_text="Texts for the agent; no secrets.")
    sealed_args = models.TextField(blank=True, help_text="Secrets for the agent, encrypted: see common/encryption.py.")
    state = models.CharField(_("state"), max_length=9, choices=OperationState, default=OperationState.WAITING)
    generation = models.PositiveBigIntegerField(default=0)
    done_bytes = models.BigIntegerField(default=0)
    total_bytes = models.BigIntegerField(default=0, help_text="0: not known.")
    done_files = models.BigIntegerField(default=0)
    total_files = models.BigIntegerField(default=0, help_text="0: not known, or not a matter of files.")
    detail = models.CharField(max_length=300, blank=True, help_text="The agent's last sentence.")
    message = MessageField()
    failure_code = models.CharField(max_length=40, blank=True)
    outcome = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=clock.now)
    deadline = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    concluded_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("operation")
        verbose_name_plural = _("operations")
        ordering = ("-created_at", "-id")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=OperationState.values), name="operation_state"),
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "running"], ended_at__isnull=True)
                | Q(state__in=["done", "failed", "cancelled"], ended_at__isnull=False),
                name="operation_ended_when_over",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["host"], condition=Q(ended_at__isnull=True), name="operation_open_on_host"),
            models.Index(fields=["subject", "-created_at"], name="operation_of_subject"),
            models.Index(fields=["deadline"], condition=Q(ended_at__isnull=True), name="operation_overdue"),
            models.Index(
                fields=["ended_at"],
                condition=Q(ended_at__isnull=False, concluded_at__isnull=True),
                name="operation_to_conclude",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def last_message(self) -> Message | None:
        """Return the last message about it, by its agent or by the market."""
        return of_row(self.message, self.detail)

    @property
    def is_open(self) -> bool:
        return self.ended_at is None
