"""Root file systems of an instance, runs without GPUs, and requests that could not be carried out."""

from typing import Final

from django.db import models
from django.utils.translation import gettext_lazy as _

from common.messages.message import MessageField
from instances.constants import CPU_RUN_MILLIS, CPU_RUN_RAM_MB
from instances.models.launches import Launch
from instances.states import InstanceState

_UNDER_WAY: Final = (
    *(InstanceState.STARTING, InstanceState.RUNNING, InstanceState.RESTARTING),
    *(InstanceState.STOPPING, InstanceState.RELEASING),
)


class Rooted(models.Model):
    """Columns of an instance about its root.

    Each root has its own number, which is never used twice. From the request for a fresh root until that has run,
    `former_root`, `former_image` and `former_launch`
    are what a failure goes back to. The fresh root is made for the run
    `root_generation`.
    """

    root_number = models.PositiveIntegerField(
        _("system disk number"), default=0, help_text="Of the root that it is to stand on."
    )
    roots_made = models.PositiveIntegerField(
        _("system disks created"), default=0, help_text="The highest root number that was ever asked for."
    )
    root_generation = models.PositiveIntegerField(
        _("system disk generation"), default=0, help_text="The run that makes the newest root."
    )
    former_root = models.PositiveIntegerField(_("previous system disk"), null=True, blank=True)
    former_image = models.ForeignKey(
        "storage.Image", on_delete=models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("previous image")
    )
    former_launch = models.ForeignKey(
        Launch, on_delete=models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("previous launch settings")
    )
    cpu_only = models.BooleanField(
        _("running without GPU"), default=False, help_text="Its present or last run is one without GPUs."
    )
    cpu_micros_per_hour = models.BigIntegerField(
        _("price without GPU, per hour (micro-units)"),
        default=0,
        help_text="What a run without GPUs costs; frozen at its start.",
    )
    setback_code = models.CharField(
        _("rollback code"), max_length=40, blank=True, help_text="Why what was asked last could not be done."
    )
    setback_detail = models.CharField(_("rollback detail"), max_length=300, blank=True)
    setback_message = MessageField()

    # Columns that Instance declares.
    state: str
    run_generation: int
    cpu_millis: int
    ram_mb: int

    class Meta:
        abstract = True

    @property
    def awaits_root(self) -> bool:
        """Return whether a fresh root was requested and has not run yet."""
        return self.former_root is not None

    @property
    def may_keep_root(self) -> bool:
        """Return whether the request for a fresh root can be cancelled, since its making has not begun."""
        return self.former_root is not None and self.run_generation < self.root_generation

    @property
    def runs_without_gpus(self) -> bool:
        return self.cpu_only and self.state in _UNDER_WAY

    @property
    def present_cpu_millis(self) -> int:
        return CPU_RUN_MILLIS if self.runs_without_gpus else self.cpu_millis

    @property
    def present_ram_mb(self) -> int:
        return CPU_RUN_RAM_MB if self.runs_without_gpus else self.ram_mb
