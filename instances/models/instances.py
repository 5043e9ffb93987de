"""Instances and their host ports."""

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from common import clock
from common.ids import new_uuid
from common.messages.message import MessageField
from common.printable import Printable, PrintableField
from instances.models.archives import ARCHIVE_CONSTRAINTS, Archived
from instances.models.launches import Launch
from instances.models.quotes import Quote
from instances.models.root_filesystems import Rooted
from instances.models.schedules import Scheduled
from instances.states import ACTIONS, Desired, FaultOf, InstanceState
from marketplace.constants import SYSTEM_DISK_GB


class Instance(Scheduled, Rooted, Archived):
    """A renter's container.

    `desired` is what the renter wants, `state` what is so by our records, `run_generation` what the agent must run.
    `run_generation` grows with each start and restart, `fence` with each lease of GPUs. `marketplace` leases the GPUs
    to this instance's id; `gpu_count` is how many it requests when it starts.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    renter = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="instances", verbose_name=_("renter")
    )
    name = PrintableField(_("name"), max_length=80)
    state = models.CharField(_("state"), max_length=12, choices=InstanceState, default=InstanceState.REQUESTED)
    generation = models.PositiveBigIntegerField(_("generation"), default=0)
    desired = models.CharField(_("desired state"), max_length=8, choices=Desired, default=Desired.RUNNING)
    run_generation = models.PositiveIntegerField(_("run generation"), default=1)
    fence = models.PositiveIntegerField(_("fence"), default=1)
    observed_generation = models.PositiveIntegerField(_("observed generation"), default=0)
    host = models.ForeignKey("marketplace.Host", on_delete=models.PROTECT, related_name="instances", verbose_name=_("host"))
    offer = models.ForeignKey("marketplace.Offer", on_delete=models.PROTECT, related_name="+", verbose_name=_("offer"))
    quote = models.OneToOneField(Quote, on_delete=models.PROTECT, related_name="instance", verbose_name=_("quote"))
    image = models.ForeignKey("storage.Image", on_delete=models.PROTECT, related_name="+", verbose_name=_("image"))
    launch = models.ForeignKey(
        Launch, on_delete=models.PROTECT, null=True, blank=True, related_name="instances", verbose_name=_("launch settings")
    )
    billing_mode = models.CharField(_("billing mode"), max_length=10, default="hourly")
    rate_micros_per_hour = models.BigIntegerField(_("rate per hour (micro-units)"))
    gpu_count = models.PositiveIntegerField(_("number of GPUs"))
    gpu_uuids = ArrayField(
        models.CharField(max_length=80),
        default=list,
        blank=True,
        help_text="Leased now or last.",
        verbose_name=_("GPU UUIDs"),
    )
    cpu_millis = models.PositiveIntegerField(_("CPU (thousandths of a core)"))
    ram_mb = models.PositiveIntegerField(_("memory (MB)"))
    data_disk_gb = models.PositiveIntegerField(_("data disk (GB)"))
    data_disk_made = models.BooleanField(
        _("data disk created"),
        default=False,
        help_text="It has run with the disk, or the disk came with it: its host never makes another one in its place.",
    )
    data_disk_lost_at = models.DateTimeField(
        _("data disk lost at"), null=True, blank=True, help_text="Its host does not find the data disk: it costs nothing."
    )
    system_disk_gb = models.PositiveIntegerField(
        _("system disk (GB)"),
        default=SYSTEM_DISK_GB,
        help_text="What its root may hold beside the image, where its host can limit that.",
    )
    holds_gpus = models.BooleanField(
        _("keeps GPUs"), default=False, help_text="Stopped, but its GPUs stay its own, at the hold fee."
    )
    hold_micros_per_hour = models.BigIntegerField(
        _("kept GPUs, per hour (micro-units)"), default=0, help_text="What keeping them costs; frozen at the stop."
    )
    tiers = models.JSONField(
        _("tiers by hours of use"), default=list, blank=True, help_text="[[hours, micros per hour of all GPUs], …]; frozen."
    )
    spot_max_micros = models.BigIntegerField(
        _("max spot price (micro-units)"), null=True, blank=True, help_text="Of a spot rent: per GPU and hour."
    )
    disk_micros_per_day = models.BigIntegerField(
        _("data disk, per day (micro-units)"), default=0, help_text="Of the data disk above the free quota; frozen at rent."
    )
    brought_root = models.PositiveIntegerField(
        _("initial system disk"),
        null=True,
        blank=True,
        help_text="The root number that was brought by a clone or a move, not made from the image.",
    )
    ports = models.JSONField(_("ports"), default=list, help_text="[[container port, host port], …]; stable for life.")
    udp_ports = models.JSONField(
        _("UDP ports"),
        default=list,
        db_default=[],
        blank=True,
        help_text="Container ports of `ports` that are published for UDP as well as for TCP.",
    )
    ssh_keys = models.JSONField(_("SSH keys"), default=list, help_text="Public keys as OpenSSH lines that let in now.")
    all_keys = models.BooleanField(
        _("all SSH keys"), default=False, help_text="Every key of the account, those added later too."
    )
    sealed_password = models.TextField(
        _("sealed password"), blank=True, help_text="Hash of root's password, encrypted; empty: none lets in."
    )
    password_set_at = models.DateTimeField(_("password set at"), null=True, blank=True)
    allow_from = models.JSONField(
        _("IP allowlist"), default=list, blank=True, help_text="Networks from which SSH answers; none: everywhere."
    )
    ports_from_generation = models.PositiveIntegerField(
        _("ports set in generation"), default=0, help_text="`ports` are published from this run on."
    )
    jupyter_token = models.CharField(_("JupyterLab token"), max_length=64)
    progress = models.CharField(
        _("progress"), max_length=300, blank=True, help_text="The agent's last sentence on what it is doing."
    )
    progress_message = MessageField()
    failure_code = models.CharField(_("failure code"), max_length=40, blank=True)
    failure_detail = models.CharField(_("failure detail"), max_length=300, blank=True)
    failure_message = MessageField()
    fault_of = models.CharField(_("responsible party"), max_length=10, choices=FaultOf, blank=True)
    created_at = models.DateTimeField(_("created at"), default=clock.now)
    started_at = models.DateTimeField(_("started at"), null=True, blank=True)
    stopped_at = models.DateTimeField(_("stopped at"), null=True, blank=True)
    stop_requested_at = models.DateTimeField(_("stop requested at"), null=True, blank=True)
    release_at = models.DateTimeField(
        _("scheduled release at"), null=True, blank=True, help_text="A stopped instance's data is kept until then."
    )
    released_at = models.DateTimeField(_("released at"), null=True, blank=True)
    deadline = models.DateTimeField(
        _("deadline"), null=True, blank=True, help_text="When the present passing state has taken too long."
    )
    observed_at = models.DateTimeField(_("observed at"), null=True, blank=True)
    cut_off_since = models.DateTimeField(
        _("unreachable since"),
        null=True,
        blank=True,
        help_text="Its host keeps connections out, pauses or limits it: nothing is charged until that is over.",
    )
    cut_off_by = models.CharField(
        _("unreachable because of"),
        max_length=40,
        blank=True,
        default="",
        db_default="",
        help_text="The code with which its host reported that.",
    )

    class Meta:
        verbose_name = _("instance")
        verbose_name_plural = _("instances")
        ordering = ("-created_at", "-id")
        constraints: ClassVar = [
            Printable(column="name", name="instance_name_is_printable"),
            models.CheckConstraint(condition=Q(state__in=InstanceState.values), name="instance_state"),
            models.CheckConstraint(condition=Q(desired__in=Desired.values), name="instance_desired"),
            models.CheckConstraint(
                condition=Q(state="gone", released_at__isnull=False) | ~Q(state="gone") & Q(released_at__isnull=True),
                name="instance_released_when_gone",
            ),
            models.CheckConstraint(condition=Q(gpu_count__gt=0), name="instance_has_gpus"),
            models.CheckConstraint(
                condition=Q(idle_below_pct__isnull=True, idle_minutes__isnull=True)
                | Q(idle_below_pct__gt=0, idle_below_pct__lte=100, idle_minutes__gt=0),
                name="instance_idle_rule_is_whole",
            ),
            *ARCHIVE_CONSTRAINTS,
        ]
        indexes: ClassVar = [
            models.Index(fields=["host"], condition=~Q(state="gone"), name="instance_on_host"),
            models.Index(fields=["deadline"], condition=Q(deadline__isnull=False), name="instance_overdue"),
            models.Index(fields=["release_at"], condition=Q(state__in=["stopped", "failed"]), name="instance_data_due"),
            models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="instance_timer_due"),
            models.Index(
                fields=["id"], condition=Q(state="running", idle_minutes__isnull=False), name="instance_watched_for_idling"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_proven_stopped(self) -> bool:
        """Return whether its container is proven stopped and its GPUs are free again."""
        return self.stopped_at is not None

    @property
    def has_own_root(self) -> bool:
        """Return whether the root may hold changes of the renter: it has run, or came from elsewhere."""
        return self.started_at is not None or (self.brought_root is not None and self.brought_root == self.root_number)

    @property
    def actions(self) -> list[str]:
        """Return the actions that its renter may request now."""
        verbs = [verb for verb, states in ACTIONS.items() if self.state in states]
        waits = self.state == InstanceState.FAILED and not self.is_proven_stopped
        keeps = self.state == InstanceState.STOPPED and self.holds_gpus
        impossible = {
            "start": waits,
            "start_cpu": waits or keeps or self.billing_mode == "reserved",
            "resize": waits,
            "convert": self.runs_without_gpus,
            "extend": self.billing_mode != "reserved",
            "clone": self.awaits_root,
            "migrate": self.awaits_root or self.holds_gpus or self.billing_mode not in ("hourly", "tiered"),
            "keep": self.release_at is None or not self.is_proven_stopped,
            "release": self.locked,
            "reimage": waits or self.locked,
            "stop": self.state == InstanceState.STOPPED and (not keeps or self.billing_mode == "reserved"),
        }
        return [verb for verb in verbs if not impossible.get(verb)]


class InstancePort(models.Model):
    """A host port of a live instance; the unique constraint keeps two instances off one port."""

    id = models.BigAutoField(primary_key=True)
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="taken_ports")
    host = models.ForeignKey("marketplace.Host", on_delete=models.CASCADE, related_name="+")
    host_port = models.PositiveIntegerField()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["host", "host_port"], name="one_instance_per_host_port")]

    def __str__(self) -> str:
        return str(self.host_port)
