"""Events and usage samples of instances."""

from typing import ClassVar

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.utils.translation import gettext_lazy as _

from common import clock
from common.messages.message import MessageField
from instances.models.instances import Instance


class InstanceEvent(models.Model):
    """An event of an instance: a change of state with its reason, or a finding for the renter."""

    id = models.BigAutoField(primary_key=True)
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="events", verbose_name=_("instance"))
    kind = models.CharField(_("kind"), max_length=40)
    from_state = models.CharField(_("state before"), max_length=12, blank=True)
    to_state = models.CharField(_("state after"), max_length=12, blank=True)
    detail = models.CharField(_("detail"), max_length=300, blank=True)
    message = MessageField(_("message"))
    actor = models.CharField(_("done by"), max_length=80)
    at = models.DateTimeField(_("time"), default=clock.now)

    class Meta:
        verbose_name = _("instance event")
        verbose_name_plural = _("instance events")
        ordering = ("-id",)
        indexes: ClassVar = [models.Index(fields=["instance", "-id"], name="event_of_instance")]

    def __str__(self) -> str:
        return f"{self.kind} {self.at:%Y-%m-%d %H:%M:%S}"


class InstanceSample(models.Model):
    """Usage of one instance at one time, as its agent measured it.

    CPU is in percent of one core, memory in MiB.
    """

    id = models.BigAutoField(primary_key=True)
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="samples")
    at = models.DateTimeField()
    cpu_pct = models.FloatField()
    ram_mb = models.PositiveIntegerField()
    disk_mb = models.PositiveIntegerField()
    rx_bytes = models.BigIntegerField()
    tx_bytes = models.BigIntegerField()
    gpu_util_pct = models.FloatField(help_text="Mean over the instance's GPUs.")
    vram_used_mb = models.PositiveIntegerField(help_text="Sum over the instance's GPUs.")
    power_w = models.PositiveIntegerField(default=0, help_text="Sum over the instance's GPUs.")
    temperature_c = models.PositiveSmallIntegerField(default=0, help_text="Of the hottest GPU.")
    oom_kills = models.PositiveIntegerField(default=0, help_text="Programs ended for lack of memory since its start.")
    gpus = models.JSONField(default=list, blank=True, help_text="[[UUID, percent, MiB, °C, W], …]")
    sessions = models.PositiveIntegerField(default=0, help_text="SSH and terminal sessions that were open.")

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["instance", "at"], name="sample_of_instance"),
            BrinIndex(fields=["at"], name="sample_age"),
        ]

    def __str__(self) -> str:
        return f"{self.instance_id} {self.at:%H:%M:%S}"
