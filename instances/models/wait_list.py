"""Entries of the wait list."""

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Func, Q, Value
from django.utils.translation import gettext_lazy as _

from common import clock
from common.ids import new_uuid
from common.printable import Printable, PrintableField
from instances.models.instances import Instance
from instances.states import WatchAction, WatchState


class Watch(models.Model):
    """An entry of the wait list: when matching GPUs are free, its user is notified or they are rented.

    Entries are served in the order of `place`.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="watches", verbose_name=_("account")
    )
    place = models.BigIntegerField(
        _("queue position"),
        unique=True,
        editable=False,
        db_default=Func(Value("instances_watch_place"), function="nextval"),
        help_text="From a sequence: the order of the wait list.",
    )
    line = models.CharField(_("search"), max_length=500, help_text="In the grammar of the search box.")
    action = models.CharField(_("action"), max_length=6, choices=WatchAction, default=WatchAction.TELL)
    state = models.CharField(_("state"), max_length=9, choices=WatchState, default=WatchState.WAITING)
    generation = models.PositiveBigIntegerField(_("generation"), default=0)
    gpu_count = models.PositiveIntegerField(_("number of GPUs"), default=1)
    max_price_micros = models.BigIntegerField(
        _("highest price (micro-units)"), null=True, blank=True, help_text="Per GPU and hour, disk included."
    )
    image = models.ForeignKey(
        "storage.Image", on_delete=models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("image")
    )
    data_disk_gb = models.PositiveIntegerField(_("data disk (GB)"), default=0)
    ssh_key_ids = ArrayField(
        models.UUIDField(), null=True, blank=True, help_text="Empty: all keys of the renter.", verbose_name=_("SSH keys")
    )
    name = PrintableField(_("name"), max_length=80, blank=True)
    instance = models.OneToOneField(
        Instance, on_delete=models.PROTECT, null=True, blank=True, related_name="watch", verbose_name=_("instance")
    )
    offer = models.ForeignKey(
        "marketplace.Offer", on_delete=models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("offer")
    )
    detail = models.CharField(
        _("detail"), max_length=300, blank=True, help_text="Why it failed: a code of `instances.notices`."
    )
    language = models.CharField(_("language"), max_length=10, default="en", help_text="In which its user is written to.")
    created_at = models.DateTimeField(_("created at"), default=clock.now)
    expires_at = models.DateTimeField(_("expires at"))
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)
    mailed_at = models.DateTimeField(
        _("email sent at"), null=True, blank=True, help_text="When the mail about its end went into the outbox."
    )

    class Meta:
        verbose_name = _("waitlist entry")
        verbose_name_plural = _("waitlist")
        ordering = ("place",)
        constraints: ClassVar = [
            Printable(column="name", name="watch_name_is_printable"),
            models.CheckConstraint(condition=Q(state__in=WatchState.values), name="watch_state"),
            models.CheckConstraint(condition=Q(gpu_count__gt=0), name="watch_has_gpus"),
            models.CheckConstraint(
                condition=Q(action="tell") | Q(image__isnull=False, max_price_micros__gt=0), name="watch_can_order"
            ),
            models.CheckConstraint(
                condition=Q(state="waiting", ended_at__isnull=True) | ~Q(state="waiting") & Q(ended_at__isnull=False),
                name="watch_ended_when_not_waiting",
            ),
            models.CheckConstraint(
                condition=Q(state="rented", instance__isnull=False) | ~Q(state="rented") & Q(instance__isnull=True),
                name="watch_rented_has_its_instance",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["place"], condition=Q(state="waiting"), name="watch_waiting"),
            models.Index(fields=["expires_at"], condition=Q(state="waiting"), name="watch_to_expire"),
            models.Index(
                fields=["ended_at"],
                condition=Q(mailed_at__isnull=True, state__in=["told", "rented", "failed", "expired"]),
                name="watch_to_mail",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)
