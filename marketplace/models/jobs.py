"""When each periodic pass was last made, so that its absence is seen by those who do not make it."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class SweepRun(models.Model):
    """One periodic pass. Written at its end, at most every half minute."""

    name = models.CharField(_("name"), max_length=80, primary_key=True)
    every_s = models.PositiveIntegerField(_("every (s)"))
    ended_at = models.DateTimeField(_("last made at"))

    class Meta:
        verbose_name = _("periodic pass")
        verbose_name_plural = _("periodic passes")
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name
