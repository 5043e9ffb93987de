"""Hosts with their GPUs and events, join tokens, write-offs, and epochs of the market."""

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from common import clock
from common.addresses import COLUMN_PATTERN, HIGHEST_PORT
from common.ids import new_uuid
from common.messages.message import MessageField
from common.printable import Printable, PrintableField
from marketplace.states import HostState, Verification


class Host(models.Model):
    """Machine that a host owner has enrolled.

    Heartbeats write here, never to offers.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="hosts", verbose_name=_("owner")
    )
    name = PrintableField(_("name"), max_length=80)
    region = PrintableField(_("region"), max_length=40)
    state = models.CharField(_("state"), max_length=10, choices=HostState, default=HostState.ONLINE)
    generation = models.PositiveBigIntegerField(_("generation"), default=0)
    verification = models.CharField(_("verification"), max_length=10, choices=Verification, default=Verification.UNVERIFIED)
    verified_at = models.DateTimeField(_("verified at"), null=True, blank=True)
    draining = models.BooleanField(_("draining"), default=False, help_text=_("No new rentals; running instances continue."))
    awaits_test = models.BooleanField(
        _("awaits a self-test"),
        db_default=False,
        default=False,
        help_text=_("The driver changed: no new rentals until a self-test passes."),
    )
    simulated = models.BooleanField(_("simulated"), default=False, help_text=_("The runtime or the GPUs are simulated."))
    runtime = models.CharField(_("runtime"), max_length=10)
    runtime_version = models.CharField(_("runtime version"), max_length=40, blank=True)
    address = models.CharField(_("address"), max_length=255, help_text=_("Where renters reach published ports."))
    hostname = models.CharField(_("machine's host name"), max_length=255, blank=True)
    kernel = models.CharField(_("kernel"), max_length=120, blank=True)
    cpu_model = models.CharField(_("CPU"), max_length=120, blank=True)
    cpu_cores = models.PositiveIntegerField(_("CPU cores"))
    ram_mb = models.PositiveIntegerField(_("RAM (MiB)"))
    disk_total_gb = models.PositiveIntegerField(_("total disk (GB)"))
    disk_free_gb = models.PositiveIntegerField(_("free disk (GB)"))
    disk_kind = models.CharField(_("disk type"), max_length=10, default="unknown")
    disk_read_mbps = models.PositiveIntegerField(
        _("disk read (MB/s)"), null=True, blank=True, help_text="Median of the measurements, in MB/s."
    )
    disk_write_mbps = models.PositiveIntegerField(_("disk write (MB/s)"), null=True, blank=True)
    disk_measured_at = models.DateTimeField(_("disk measured at"), null=True, blank=True)
    disk_samples = models.PositiveIntegerField(_("disk measurements"), default=0)
    net_up_mbps = models.PositiveIntegerField(
        _("upload (Mbit/s)"), null=True, blank=True, help_text="Against the control plane, in Mbit/s."
    )
    net_down_mbps = models.PositiveIntegerField(_("download (Mbit/s)"), null=True, blank=True)
    net_measured_at = models.DateTimeField(_("network measured at"), null=True, blank=True)
    net_samples = models.PositiveIntegerField(_("network measurements"), default=0)
    nvlink = models.BooleanField("NVLink", default=False)
    root_limit = models.CharField(
        _("system disk limit method"),
        max_length=10,
        blank=True,
        db_default="",
        help_text="disk: each root has a hard limit; none, or empty: it has not.",
    )
    driver = models.CharField(_("driver"), max_length=40, blank=True)
    cuda = models.CharField(_("CUDA"), max_length=10, blank=True)
    images = ArrayField(models.CharField(max_length=255), default=list, blank=True, verbose_name=_("cached images"))
    warnings = models.JSONField(_("warnings"), default=list, blank=True)
    keeps_ssh_list = models.BooleanField(
        _("IP allowlist supported"), null=True, help_text="Lists of addresses for SSH hold here; empty: not known."
    )
    launch_settings = models.BooleanField(
        _("applies launch settings"), default=False, db_default=False, help_text="Its agent is recent enough for them."
    )
    publishes_udp = models.BooleanField(
        _("publishes UDP ports"), default=False, db_default=False, help_text="Its agent is recent enough for them."
    )
    udp_reached = models.BooleanField(
        _("UDP reachable from outside"), null=True, help_text="By the last self-test that tried; empty: none has."
    )
    port_first = models.PositiveIntegerField(_("first port"))
    port_last = models.PositiveIntegerField(_("last port"))
    agent_version = models.CharField(_("agent version"), max_length=20, blank=True)
    listed_until = models.DateTimeField(
        _("rentable until"),
        null=True,
        blank=True,
        help_text=_("Leases end by this time. Leave blank for no end date."),
    )
    reliability_ppm = models.PositiveIntegerField(
        _("reliability (millionths)"),
        null=True,
        blank=True,
        help_text="Millionths, from the public ledger of events; empty: too little is known.",
    )
    engine_age_s = models.FloatField(_("container engine unresponsive for (s)"), default=0)
    enrolled_at = models.DateTimeField(_("enrolled at"), default=clock.now)
    agent_revoked_at = models.DateTimeField(
        _("agent's key revoked"), null=True, blank=True, help_text=_("The agent is rejected until the host is added again.")
    )
    agent_keys = models.PositiveIntegerField(
        _("keys held by the agent"), default=0, help_text="How many keys of its agent have been revoked."
    )
    awaits_epoch = models.BooleanField(
        _("epoch confirmation pending"),
        default=False,
        db_default=False,
        help_text=_("Since the restore from a backup, the agent hasn't reported what it runs: no new rentals."),
    )
    last_seen_at = models.DateTimeField(_("last report"), default=clock.now)
    leftovers_of = ArrayField(
        models.UUIDField(),
        default=list,
        db_default=[],
        blank=True,
        verbose_name=_("leftovers from"),
        help_text=_("Written-off hosts that had these GPUs. Rentals start once their containers are confirmed gone."),
    )

    class Meta:
        verbose_name = _("host")
        verbose_name_plural = _("hosts")
        ordering = ("name", "id")
        constraints: ClassVar = [
            Printable(column="name", name="host_name_is_printable"),
            Printable(column="region", name="host_region_is_printable"),
            models.CheckConstraint(condition=Q(state__in=HostState.values), name="host_state"),
            models.CheckConstraint(condition=Q(port_first__lte=F("port_last")), name="host_port_range"),
            models.CheckConstraint(condition=Q(port_last__lte=HIGHEST_PORT), name="host_port_exists"),
            models.CheckConstraint(
                condition=Q(agent_revoked_at__isnull=True) | ~Q(state="online"), name="host_without_agent_is_not_online"
            ),
            # Renters paste it into a shell: a host name or an IP address, or none for a host behind NAT.
            models.CheckConstraint(condition=Q(address="") | Q(address__regex=COLUMN_PATTERN), name="host_address"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["last_seen_at"], condition=Q(state="online"), name="host_to_find_silent"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def verified(self) -> bool:
        return self.verification == Verification.VERIFIED

    @property
    def behind_nat(self) -> bool:
        """Return whether its ports cannot be reached from outside; it has no address, and the relay is used."""
        return not self.address

    @property
    def closed_for_now(self) -> bool:
        """Return whether nothing new may run on it, for whatever price, until it has passed a check."""
        return self.awaits_test or self.awaits_epoch or bool(self.leftovers_of)


class HostEvent(models.Model):
    """State change or finding of a host, read by its owner and by the reliability score."""

    id = models.BigAutoField(primary_key=True)
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="events", verbose_name=_("host"))
    kind = models.CharField(_("kind"), max_length=40)
    detail = models.CharField(_("detail"), max_length=300, blank=True)
    message = MessageField(_("message"))
    actor = models.CharField(_("done by"), max_length=80)
    at = models.DateTimeField(_("time"), default=clock.now)

    class Meta:
        verbose_name = _("host event")
        verbose_name_plural = _("host events")
        ordering = ("-id",)
        indexes: ClassVar = [models.Index(fields=["host", "-id"], name="event_of_host")]

    def __str__(self) -> str:
        return f"{self.kind} {self.at:%Y-%m-%d %H:%M:%S}"


class Gpu(models.Model):
    """Physical device, known by its UUID; a UUID belongs to one host, whoever else claims it."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="gpus", verbose_name=_("host"))
    offer = models.ForeignKey("marketplace.Offer", on_delete=models.PROTECT, related_name="gpus", verbose_name=_("offer"))
    uuid = models.CharField("UUID", max_length=80, unique=True)
    model = models.SlugField(_("model"), max_length=60, help_text=_("Slug in the catalog."))
    name = models.CharField(_("name"), max_length=120)
    vram_mb = models.PositiveIntegerField(_("VRAM (MiB)"))
    index = models.PositiveIntegerField(_("slot"), default=0)
    pcie_gen = models.PositiveIntegerField(_("PCIe generation"), default=0)
    pcie_width = models.PositiveIntegerField(_("PCIe lanes"), default=0)
    simulated = models.BooleanField(_("simulated"), default=False)
    healthy = models.BooleanField(_("healthy"), default=True)
    present = models.BooleanField(_("present"), default=True)
    quarantined = models.BooleanField(
        _("in quarantine"),
        default=False,
        db_default=False,
        help_text=_("Used by a container that Berth doesn't know, so it isn't rented out."),
    )
    detail = models.CharField(_("detail"), max_length=300, blank=True)

    class Meta:
        verbose_name = _("GPU")
        verbose_name_plural = _("GPUs")
        ordering = ("host", "index", "id")

    def __str__(self) -> str:
        return f"{self.name} {self.uuid}"


class JoinToken(models.Model):
    """Single-use permission to enrol a host for its owner, valid for at most 15 minutes."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", verbose_name=_("owner"))
    secret_hash = models.CharField(_("hash of the secret"), max_length=64, unique=True)
    host_name = PrintableField(_("host name"), max_length=80)
    region = PrintableField(_("region"), max_length=40)
    price_micros = models.BigIntegerField(
        _("price (micro-units)"), default=0, help_text=_("Initial price per GPU-hour; set per offer afterwards.")
    )
    created_at = models.DateTimeField(_("created at"), default=clock.now)
    expires_at = models.DateTimeField(_("expires at"))
    used_at = models.DateTimeField(_("used at"), null=True, blank=True)
    used_by = models.ForeignKey(
        Host, on_delete=models.CASCADE, null=True, blank=True, related_name="+", verbose_name=_("used by")
    )

    class Meta:
        verbose_name = _("join token")
        verbose_name_plural = _("join tokens")
        constraints: ClassVar = [
            Printable(column="host_name", name="join_token_host_name_is_printable"),
            Printable(column="region", name="join_token_region_is_printable"),
            models.CheckConstraint(condition=Q(secret_hash__regex=r"^[0-9a-f]{64}$"), name="join_token_hash_is_sha256"),  # noqa: S106 a pattern, no password
        ]

    def __str__(self) -> str:
        return self.host_name


class Epoch(models.Model):
    """Period from a restore on, whose orders are distinguished from earlier ones; its number only grows."""

    number = models.BigIntegerField(
        _("number"), primary_key=True, help_text="Unix seconds of its beginning, so that no restored database repeats one."
    )
    reason = models.CharField(_("reason"), max_length=200)
    backup_at = models.DateTimeField(_("backup taken at"), null=True, blank=True)
    begun_at = models.DateTimeField(_("begun at"), default=clock.now)
    findings = models.JSONField(
        _("changes since the backup"), default=list, blank=True, help_text="One sentence each, as it was found out."
    )

    class Meta:
        verbose_name = _("epoch")
        verbose_name_plural = _("epochs")
        ordering = ("-number",)

    def __str__(self) -> str:
        return str(self.number)


class HostWriteOff(models.Model):
    """Decision to write a host off, with its reason.

    It is never changed or revoked; only its settlement is recorded.
    """

    host = models.OneToOneField(
        Host, on_delete=models.PROTECT, primary_key=True, related_name="write_off", verbose_name=_("host")
    )
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", verbose_name=_("decided by")
    )
    reason = PrintableField(_("reason"), max_length=300)
    last_seen_at = models.DateTimeField(_("last report"), help_text=_("Time after this isn't charged."))
    at = models.DateTimeField(_("time"), default=clock.now)
    settled_at = models.DateTimeField(
        _("settled at"), null=True, blank=True, help_text=_("Nothing on the host is left to terminate.")
    )

    class Meta:
        verbose_name = _("write-off")
        verbose_name_plural = _("write-offs")
        ordering = ("-at",)
        constraints: ClassVar = [
            Printable(column="reason", name="write_off_reason_is_printable"),
            models.CheckConstraint(condition=~Q(reason=""), name="write_off_says_why"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["at"], condition=Q(settled_at__isnull=True), name="write_off_to_settle"),
        ]

    def __str__(self) -> str:
        return str(self.host)
