"""Transfers of volumes to another host, as moves or copies."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from common import clock
from common.ids import new_uuid
from common.messages.message import MessageField
from storage.models.volumes import Volume
from storage.states import VolumeMoveKind, VolumeMoveState


class VolumeMove(models.Model):
    """A move or a copy of a volume to another host.

    A move changes the host of a volume, and `source` and `target` are the same row; a copy fills `target` from
    `source`. The copying is done by two operations (one on each host) whose subject is this row. What is left on a
    host afterwards is removed by another operation.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    kind = models.CharField(_("kind"), max_length=4, choices=VolumeMoveKind)
    state = models.CharField(_("state"), max_length=9, choices=VolumeMoveState, default=VolumeMoveState.COPYING)
    generation = models.PositiveBigIntegerField(_("generation"), default=0)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", verbose_name=_("owner"))
    source = models.ForeignKey(Volume, on_delete=models.PROTECT, related_name="moves_out", verbose_name=_("source"))
    target = models.ForeignKey(Volume, on_delete=models.PROTECT, related_name="moves_in", verbose_name=_("target"))
    from_host = models.ForeignKey(
        "marketplace.Host", on_delete=models.PROTECT, related_name="+", verbose_name=_("from the host")
    )
    to_host = models.ForeignKey(
        "marketplace.Host", on_delete=models.PROTECT, related_name="+", verbose_name=_("to the host")
    )
    micros_per_day = models.BigIntegerField(
        _("price per day (micro-units)"), help_text="Of the whole volume on the new host; frozen at the order."
    )
    waits_for = models.UUIDField(_("waits for"), null=True, blank=True, help_text="The instance that runs when it has come.")
    checksum = models.CharField(_("checksum"), max_length=64, blank=True)
    carried_bytes = models.BigIntegerField(_("bytes to transfer"), default=0)
    cuts = models.PositiveIntegerField(
        _("interruptions"), default=0, help_text="How often the way broke and the copying went on."
    )
    failure_code = models.CharField(_("failure code"), max_length=40, blank=True)
    failure_detail = models.CharField(_("failure detail"), max_length=300, blank=True)
    failure_message = MessageField()
    created_at = models.DateTimeField(_("created at"), default=clock.now)
    switched_at = models.DateTimeField(
        _("switched at"), null=True, blank=True, help_text="From then on it is the new host's."
    )
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)

    class Meta:
        verbose_name = _("volume move")
        verbose_name_plural = _("volume moves")
        ordering = ("-created_at", "-id")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=VolumeMoveState.values), name="volume_move_state"),
            models.CheckConstraint(condition=Q(kind__in=VolumeMoveKind.values), name="volume_move_kind"),
            models.CheckConstraint(
                condition=Q(state__in=["done", "failed", "cancelled"], ended_at__isnull=False)
                | Q(state__in=["copying", "clearing", "undoing"], ended_at__isnull=True),
                name="volume_move_ended_when_over",
            ),
            models.UniqueConstraint(fields=["source"], condition=Q(ended_at__isnull=True), name="one_open_move_of_volume"),
            models.UniqueConstraint(fields=["target"], condition=Q(ended_at__isnull=True), name="one_open_move_into_volume"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["to_host"], condition=Q(ended_at__isnull=True), name="volume_move_to_host"),
            models.Index(fields=["waits_for"], condition=Q(waits_for__isnull=False), name="volume_move_waited_for"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"
