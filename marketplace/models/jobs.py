"""Times of the last run of each sweep, so that other processes notice missing runs."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class SweepRun(models.Model):
    """One sweep; written at the end of a run, at most every half minute."""

    name = models.CharField(_("name"), max_length=80, primary_key=True)
    every_s = models.PositiveIntegerField(_("interval (s)"))
    ended_at = models.DateTimeField(_("last run at"))

    class Meta:
        verbose_name = _("periodic pass")
        verbose_name_plural = _("periodic passes")
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name
