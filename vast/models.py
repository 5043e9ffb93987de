"""Short numbers, asks, and the creates of the last minutes."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from common import clock


class Kind(models.TextChoices):
    """What a short number stands for."""

    INSTANCE = "instance"
    HOST = "host"
    USER = "user"
    KEY = "key"
    TEMPLATE = "template"
    VOLUME = "volume"
    TOKEN = "token"  # noqa: S105  (a kind of thing)


class ShortNumber(models.Model):
    """A short number in place of a UUID; never changed, and never given to anything else."""

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=10)
    key = models.UUIDField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["kind", "key"], name="one_short_number_per_thing"),
            models.CheckConstraint(condition=Q(kind__in=Kind.values), name="short_number_kind"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Ask(models.Model):
    """An offer with a number of GPUs and a mode, at the price that was shown; never changed.

    Another price is another ask, so whoever rents an ask pays what the search has shown.
    """

    id = models.BigAutoField(primary_key=True)
    offer = models.ForeignKey("marketplace.Offer", on_delete=models.CASCADE, related_name="+")
    gpu_count = models.PositiveIntegerField()
    mode = models.CharField(max_length=8)
    price_micros = models.BigIntegerField(help_text="Per GPU and hour; 0 of a spot ask, whose price changes by the minute.")
    disk_micros_gb_day = models.BigIntegerField(help_text="Of the data disk above the free quota, per GB and day.")
    listed_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["offer", "gpu_count", "mode", "price_micros", "disk_micros_gb_day"],
                name="one_ask_per_slice_and_price",
            ),
            models.CheckConstraint(condition=Q(mode__in=["hourly", "spot"]), name="ask_mode"),
            models.CheckConstraint(condition=Q(gpu_count__gt=0), name="ask_has_gpus"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class SentCreate(models.Model):
    """A create and the instance that it made, so that its repetition makes no other one.

    `digest` is a keyed digest of the token, the ask and the body.
    """

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64)
    instance = models.ForeignKey("instances.Instance", on_delete=models.CASCADE, null=True, related_name="+")
    at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "digest"], name="one_create_per_digest")]
        indexes: ClassVar = [models.Index(fields=["at"], name="create_to_forget")]

    def __str__(self) -> str:
        return self.digest


class Variable(models.Model):
    """A variable of an account, for every instance that is created through this API."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=256)
    sealed = models.TextField(help_text="The value, encrypted.")
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "name"], name="one_variable_per_name")]

    def __str__(self) -> str:
        return self.name
