"""Results of log reads, kept while somebody looks at them."""

from typing import ClassVar

from django.db import models

from common import clock
from common.messages.message import MessageField
from instances.models.instances import Instance


class LogRead(models.Model):
    """A search in an instance's log with its last result.

    `operation` is the read in progress.
    """

    id = models.BigAutoField(primary_key=True)
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="+")
    question = models.CharField(max_length=300, help_text="SHA-256 of the search: tail, q, since.")
    operation = models.UUIDField(null=True, blank=True)
    lines = models.JSONField(default=list, help_text="[[time, text], …], oldest first.")
    cut = models.BooleanField(default=False, help_text="There is more than was read.")
    failure = models.CharField(max_length=300, blank=True)
    failure_message = MessageField()
    asked_at = models.DateTimeField(default=clock.now)
    read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["instance", "question"], name="one_log_read_per_question")]
        indexes: ClassVar = [models.Index(fields=["asked_at"], name="log_read_by_age")]

    def __str__(self) -> str:
        return f"log of {self.instance_id}"
