"""One-shot commands in instances, with their results for a while."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from common import clock
from common.ids import new_uuid
from common.messages.message import MessageField
from instances.models.instances import Instance


class CommandRun(models.Model):
    """One command that was requested through the API.

    `operation` is the host's work on it, None once that has ended. Neither the words of the command nor its variables
    and input are kept here: the operation has them, encrypted, until it ends.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="+")
    operation = models.UUIDField(null=True, blank=True, unique=True)
    timeout_s = models.PositiveIntegerField()
    asked_at = models.DateTimeField(default=clock.now)
    ended_at = models.DateTimeField(null=True, blank=True)
    exit_code = models.IntegerField(null=True, blank=True)
    timed_out = models.BooleanField(default=False)
    duration_ms = models.PositiveBigIntegerField(null=True, blank=True)
    failure_code = models.CharField(max_length=40, blank=True)
    failure = models.CharField(max_length=300, blank=True)
    failure_message = MessageField()
    sealed_output = models.TextField(blank=True, help_text="Output and errors, encrypted; empty: none, or erased.")
    stdout_cut = models.BooleanField(default=False)
    stderr_cut = models.BooleanField(default=False)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(operation__isnull=True) | Q(ended_at__isnull=True), name="command_ended_without_operation"
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=False)
                | Q(exit_code__isnull=True, timed_out=False, failure_code="", sealed_output=""),
                name="command_result_when_ended",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["instance", "-asked_at"], name="command_of_instance"),
            models.Index(fields=["asked_at"], name="command_by_age"),
        ]

    def __str__(self) -> str:
        return f"command {self.id}"
