"""Supply: hosts, their GPUs, the offers made of them, and who holds which GPU."""

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from common import clock
from common.ids import new_uuid
from marketplace.states import HostState


class Host(models.Model):
    """A machine that a host owner has enrolled. Heartbeats write here, never to offers."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="hosts", verbose_name=_("owner")
    )
    name = models.CharField(_("name"), max_length=80)
    region = models.CharField(_("region"), max_length=40)
    state = models.CharField(_("state"), max_length=10, choices=HostState, default=HostState.ONLINE)
    generation = models.PositiveBigIntegerField(default=0)
    verified = models.BooleanField(_("verified"), default=False)
    draining = models.BooleanField(_("draining"), default=False, help_text=_("No new rents; running ones go on."))
    simulated = models.BooleanField(_("simulated"), default=False, help_text=_("Its runtime or its GPUs are simulated."))
    runtime = models.CharField(_("runtime"), max_length=10)
    runtime_version = models.CharField(max_length=40, blank=True)
    address = models.CharField(_("address"), max_length=255, help_text=_("Where renters reach published ports."))
    hostname = models.CharField(max_length=255, blank=True)
    kernel = models.CharField(max_length=120, blank=True)
    cpu_model = models.CharField(_("CPU"), max_length=120, blank=True)
    cpu_cores = models.PositiveIntegerField(_("CPU cores"))
    ram_mb = models.PositiveIntegerField(_("RAM (MiB)"))
    disk_total_gb = models.PositiveIntegerField()
    disk_free_gb = models.PositiveIntegerField()
    disk_kind = models.CharField(max_length=10, default="unknown")
    driver = models.CharField(_("driver"), max_length=40, blank=True)
    cuda = models.CharField(max_length=10, blank=True)
    images = ArrayField(models.CharField(max_length=255), default=list, blank=True)
    warnings = models.JSONField(default=list, blank=True)
    port_first = models.PositiveIntegerField()
    port_last = models.PositiveIntegerField()
    agent_version = models.CharField(max_length=20, blank=True)
    engine_age_s = models.FloatField(default=0)
    enrolled_at = models.DateTimeField(default=clock.now)
    last_seen_at = models.DateTimeField(_("last report"), default=clock.now)

    class Meta:
        verbose_name = _("host")
        verbose_name_plural = _("hosts")
        ordering = ("name", "id")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=HostState.values), name="host_state"),
            models.CheckConstraint(condition=Q(port_first__lte=F("port_last")), name="host_port_range"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["last_seen_at"], condition=Q(state="online"), name="host_to_find_silent"),
        ]

    def __str__(self) -> str:
        return self.name


class HostEvent(models.Model):
    """One move or finding of a host: what its owner and the reliability score read."""

    id = models.BigAutoField(primary_key=True)
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="events")
    kind = models.CharField(max_length=40)
    detail = models.CharField(max_length=300, blank=True)
    actor = models.CharField(max_length=80)
    at = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ("-id",)
        indexes: ClassVar = [models.Index(fields=["host", "-id"], name="event_of_host")]

    def __str__(self) -> str:
        return f"{self.kind} {self.at:%Y-%m-%d %H:%M:%S}"


class Gpu(models.Model):
    """One physical device, known by its UUID. A UUID belongs to one host, whoever else claims it."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="gpus")
    offer = models.ForeignKey("marketplace.Offer", on_delete=models.PROTECT, related_name="gpus")
    uuid = models.CharField("UUID", max_length=80, unique=True)
    model = models.SlugField(_("model"), max_length=60, help_text=_("Slug in the catalogue."))
    name = models.CharField(_("name"), max_length=120)
    vram_mb = models.PositiveIntegerField(_("VRAM (MiB)"))
    index = models.PositiveIntegerField(default=0)
    pcie_gen = models.PositiveIntegerField(default=0)
    pcie_width = models.PositiveIntegerField(default=0)
    simulated = models.BooleanField(default=False)
    healthy = models.BooleanField(_("healthy"), default=True)
    present = models.BooleanField(_("present"), default=True)
    detail = models.CharField(max_length=300, blank=True)

    class Meta:
        verbose_name = "GPU"
        verbose_name_plural = "GPUs"
        ordering = ("host", "index", "id")

    def __str__(self) -> str:
        return f"{self.name} {self.uuid}"


# Every column that a search filters by is in the index, so that a page's ids come from the index alone.
_SEARCHED = ("price_micros", "id", "gpu_model", "region", "runtime", "simulated", "gpu_free", "vram_mb")


def _search_index(name: str, *fields: str) -> models.Index:
    rest = [column for column in _SEARCHED if column not in fields]
    return models.Index(fields=fields, include=rest, condition=Q(gpu_free__gt=0), name=name)


class Offer(models.Model):
    """What can be rented: the GPUs of one model on one host, at a price. Denormalised for search, kept by services alone.

    `gpu_free` counts GPUs that are present, healthy and without a live lease, and is 0 while the host is not open
    (silent, frozen, draining, unlisted). `version` grows with each change of price or shape, so that a quote can be checked.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="offers")
    gpu_model = models.SlugField(_("GPU model"), max_length=60)
    region = models.CharField(max_length=40)
    runtime = models.CharField(max_length=10, default="docker")
    simulated = models.BooleanField(default=False)
    listed = models.BooleanField(_("listed"), default=True)
    version = models.PositiveIntegerField(default=1)
    price_micros = models.BigIntegerField(_("price per GPU-hour"), help_text=_("Micro-units per GPU and hour."))
    gpu_total = models.PositiveIntegerField(default=0)
    gpu_free = models.PositiveIntegerField(default=0)
    vram_mb = models.PositiveIntegerField(default=0, help_text="Nominal: 24 GB is 24576, whatever the driver keeps back.")
    cpu_millis_per_gpu = models.PositiveIntegerField(default=0)
    ram_mb_per_gpu = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        verbose_name = _("offer")
        verbose_name_plural = _("offers")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(price_micros__gte=0), name="offer_price_not_negative"),
            models.CheckConstraint(condition=Q(gpu_free__lte=F("gpu_total")), name="offer_free_at_most_total"),
            models.UniqueConstraint(fields=["host", "gpu_model"], name="one_offer_per_host_and_model"),
        ]
        indexes: ClassVar = [
            _search_index("offer_open_by_price", "price_micros", "id"),
            _search_index("offer_open_by_model", "gpu_model", "price_micros", "id"),
            _search_index("offer_open_by_region", "region", "price_micros", "id"),
        ]

    def __str__(self) -> str:
        return f"{self.gpu_model} on {self.host_id}"


class Lease(models.Model):
    """One GPU and its share of CPU and memory, held exclusively by one opaque holder.

    It ends only on proof of absence or by a logged write-off (D2).
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    gpu = models.ForeignKey(Gpu, on_delete=models.PROTECT, related_name="leases")
    offer = models.ForeignKey(Offer, on_delete=models.PROTECT, related_name="leases")
    holder = models.UUIDField()
    price_micros = models.BigIntegerField(help_text="Per hour, of this one GPU.")
    cpu_millis = models.PositiveIntegerField(default=0)
    ram_mb = models.PositiveIntegerField(default=0)
    leased_at = models.DateTimeField(default=clock.now)
    released_at = models.DateTimeField(null=True, blank=True)
    release_reason = models.CharField(max_length=40, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["gpu"], condition=Q(released_at__isnull=True), name="one_live_lease_per_gpu"),
            models.CheckConstraint(
                condition=Q(released_at__isnull=True) | Q(released_at__gte=F("leased_at")), name="lease_ends_after_start"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["holder"], condition=Q(released_at__isnull=True), name="live_lease_of_holder"),
        ]

    def __str__(self) -> str:
        return f"{self.gpu_id} held by {self.holder}"


class JoinToken(models.Model):
    """One-use leave to enrol a host for its owner, at most 15 minutes long."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    secret_hash = models.CharField(max_length=64, unique=True)
    host_name = models.CharField(max_length=80)
    region = models.CharField(max_length=40)
    price_micros = models.BigIntegerField(default=0, help_text=_("First price per GPU and hour; changed later per offer."))
    created_at = models.DateTimeField(default=clock.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    used_by = models.ForeignKey(Host, on_delete=models.CASCADE, null=True, blank=True, related_name="+")

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(secret_hash__regex=r"^[0-9a-f]{64}$"), name="join_token_hash_is_sha256"),  # noqa: S106 a pattern, no password
        ]

    def __str__(self) -> str:
        return f"join token for {self.host_name}"


class Incident(models.Model):
    """A difference that no rule explains, for staff to look at. One open row per kind and subject."""

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=40)
    subject = models.CharField(max_length=120)
    detail = models.TextField()
    opened_at = models.DateTimeField(default=clock.now)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["kind", "subject"], condition=Q(closed_at__isnull=True), name="one_open_incident_per_subject"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.subject}"
