"""Transfers: clones of instances, and migrations to another host."""

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from common import clock
from common.ids import new_uuid
from common.messages.message import MessageField
from instances.models.instances import Instance
from instances.models.quotes import Quote
from instances.states import MoveKind, MoveState


class Move(models.Model):
    """A clone or migration of an instance.

    A clone makes `target` from `source`; in a migration both are the same instance, which changes its host. The
    copying is done by one or two operations whose subject is this row. `before` and `after` hold the columns that
    depend on host and prices on either side, so that a migration can be reverted.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    kind = models.CharField(max_length=7, choices=MoveKind)
    state = models.CharField(_("state"), max_length=9, choices=MoveState, default=MoveState.COPYING)
    generation = models.PositiveBigIntegerField(default=0)
    renter = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    source = models.ForeignKey(Instance, on_delete=models.PROTECT, related_name="moves_out")
    target = models.ForeignKey(Instance, on_delete=models.PROTECT, related_name="moves_in")
    quote = models.OneToOneField(Quote, on_delete=models.PROTECT, related_name="+")
    from_host = models.ForeignKey("marketplace.Host", on_delete=models.PROTECT, related_name="+")
    to_host = models.ForeignKey("marketplace.Host", on_delete=models.PROTECT, related_name="+")
    to_offer = models.ForeignKey("marketplace.Offer", on_delete=models.PROTECT, related_name="+")
    with_data_disk = models.BooleanField(default=True)
    gpu_uuids = ArrayField(models.CharField(max_length=80), default=list, help_text="Leased for the target.")
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    failure_code = models.CharField(max_length=40, blank=True)
    failure_detail = models.CharField(max_length=300, blank=True)
    failure_message = MessageField()
    created_at = models.DateTimeField(default=clock.now)
    switched_at = models.DateTimeField(null=True, blank=True, help_text="When the target was told to run.")
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("move")
        verbose_name_plural = _("moves")
        ordering = ("-created_at", "-id")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=MoveState.values), name="move_state"),
            models.CheckConstraint(
                condition=Q(state__in=["done", "failed", "cancelled"], ended_at__isnull=False)
                | Q(state__in=["copying", "starting", "clearing", "undoing"], ended_at__isnull=True),
                name="move_ended_when_over",
            ),
            models.UniqueConstraint(fields=["source"], condition=Q(ended_at__isnull=True), name="one_open_move_of_source"),
            models.UniqueConstraint(fields=["target"], condition=Q(ended_at__isnull=True), name="one_open_move_of_target"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["from_host"], condition=Q(ended_at__isnull=True), name="move_open_from_host"),
            models.Index(fields=["to_host"], condition=Q(ended_at__isnull=True), name="move_open_to_host"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"
