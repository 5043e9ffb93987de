"""Epochs: each time the market continues from a backup, or from a copy without the last commits."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from common import clock


class Epoch(models.Model):
    """Period from a restore on, whose orders are distinguished from earlier ones; its number only grows."""

    number = models.BigIntegerField(
        _("number"), primary_key=True, help_text="Unix seconds of its beginning, so that no restored database repeats one."
    )
    reason = models.CharField(_("reason"), max_length=200)
    backup_at = models.DateTimeField(_("backup of"), null=True, blank=True)
    begun_at = models.DateTimeField(_("begun at"), default=clock.now)
    findings = models.JSONField(
        _("what happened after the backup"), default=list, blank=True, help_text="One sentence each, as it was found out."
    )

    class Meta:
        verbose_name = _("epoch")
        verbose_name_plural = _("epochs")
        ordering = ("-number",)

    def __str__(self) -> str:
        return str(self.number)
