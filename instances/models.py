"""Instances, the quotes they were rented by, their events and their use over time."""

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Func, Q, Value
from django.utils.translation import gettext_lazy as _

from common import clock
from common.ids import new_uuid
from instances.states import ACTIONS, Desired, FaultOf, InstanceState, WatchAction, WatchState


class Quote(models.Model):
    """An all-in price for one order, good until `expires_at` and for one order alone."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    renter = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    offer = models.ForeignKey("marketplace.Offer", on_delete=models.CASCADE, related_name="+")
    offer_version = models.PositiveIntegerField()
    image = models.ForeignKey("storage.Image", on_delete=models.PROTECT, related_name="+")
    billing_mode = models.CharField(max_length=10, default="hourly")
    gpu_count = models.PositiveIntegerField()
    data_disk_gb = models.PositiveIntegerField()
    hours = models.PositiveIntegerField(default=1)
    term = models.CharField(max_length=6, blank=True, help_text="Of a reserved quote: day, week, month, year, year3.")
    payment = models.CharField(max_length=8, blank=True, help_text="Of a reserved quote: upfront or none.")
    max_price_micros = models.BigIntegerField(null=True, blank=True, help_text="Of a spot quote: per GPU and hour.")
    rate_micros_per_hour = models.BigIntegerField()
    due_now_micros = models.BigIntegerField()
    projected_micros = models.BigIntegerField()
    committed_micros = models.BigIntegerField(
        null=True, blank=True, help_text="Of a reserved quote: what its GPUs cost through the whole term, used or not."
    )
    lines = models.JSONField()
    created_at = models.DateTimeField(default=clock.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(gpu_count__gt=0), name="quote_has_gpus"),
            models.CheckConstraint(
                condition=Q(billing_mode__in=["hourly", "reserved", "tiered", "spot"]), name="quote_mode"
            ),
        ]

    def __str__(self) -> str:
        return f"quote {self.id}"

    @property
    def has_paid_disk(self) -> bool:
        return any(line["unit"] == "GB-day" and line["amount"] != "0.00" for line in self.lines)

    @property
    def is_orderable(self) -> bool:
        """Only what is metered to the second can be ordered; the other modes, and paid disks, are for comparing."""
        return self.billing_mode == "hourly" and not self.has_paid_disk


class Instance(models.Model):
    """The renter's container. `desired` is the renter's will, `state` ours, `run_generation` what the agent must run.

    `run_generation` grows with each start and restart; `fence` with each lease of GPUs. The GPUs are those that
    `marketplace` says this instance's id holds; `gpu_count` is what it asks for when it starts.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    renter = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="instances")
    name = models.CharField(_("name"), max_length=80)
    state = models.CharField(_("state"), max_length=12, choices=InstanceState, default=InstanceState.REQUESTED)
    generation = models.PositiveBigIntegerField(default=0)
    desired = models.CharField(max_length=8, choices=Desired, default=Desired.RUNNING)
    run_generation = models.PositiveIntegerField(default=1)
    fence = models.PositiveIntegerField(default=1)
    observed_generation = models.PositiveIntegerField(default=0)
    host = models.ForeignKey("marketplace.Host", on_delete=models.PROTECT, related_name="instances")
    offer = models.ForeignKey("marketplace.Offer", on_delete=models.PROTECT, related_name="+")
    quote = models.OneToOneField(Quote, on_delete=models.PROTECT, related_name="instance")
    image = models.ForeignKey("storage.Image", on_delete=models.PROTECT, related_name="+")
    billing_mode = models.CharField(max_length=10, default="hourly")
    rate_micros_per_hour = models.BigIntegerField()
    gpu_count = models.PositiveIntegerField()
    gpu_uuids = ArrayField(models.CharField(max_length=80), default=list, blank=True, help_text="Leased now or last.")
    cpu_millis = models.PositiveIntegerField()
    ram_mb = models.PositiveIntegerField()
    data_disk_gb = models.PositiveIntegerField()
    ports = models.JSONField(default=list, help_text="[[container port, host port], …]; stable for life.")
    ssh_keys = models.JSONField(default=list, help_text="Public keys as OpenSSH lines, as chosen at rent.")
    jupyter_token = models.CharField(max_length=64)
    progress = models.CharField(max_length=300, blank=True, help_text="The agent's last sentence on what it is doing.")
    failure_code = models.CharField(max_length=40, blank=True)
    failure_detail = models.CharField(max_length=300, blank=True)
    fault_of = models.CharField(max_length=10, choices=FaultOf, blank=True)
    created_at = models.DateTimeField(default=clock.now)
    started_at = models.DateTimeField(null=True, blank=True)
    stopped_at = models.DateTimeField(null=True, blank=True)
    stop_requested_at = models.DateTimeField(null=True, blank=True)
    release_at = models.DateTimeField(null=True, blank=True, help_text="A stopped instance's data is kept until then.")
    released_at = models.DateTimeField(null=True, blank=True)
    deadline = models.DateTimeField(null=True, blank=True, help_text="When the present passing state has taken too long.")
    observed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("instance")
        verbose_name_plural = _("instances")
        ordering = ("-created_at", "-id")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=InstanceState.values), name="instance_state"),
            models.CheckConstraint(condition=Q(desired__in=Desired.values), name="instance_desired"),
            models.CheckConstraint(
                condition=Q(state="gone", released_at__isnull=False) | ~Q(state="gone") & Q(released_at__isnull=True),
                name="instance_released_when_gone",
            ),
            models.CheckConstraint(condition=Q(gpu_count__gt=0), name="instance_has_gpus"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["host"], condition=~Q(state="gone"), name="instance_on_host"),
            models.Index(fields=["deadline"], condition=Q(deadline__isnull=False), name="instance_overdue"),
            models.Index(fields=["release_at"], condition=Q(state__in=["stopped", "failed"]), name="instance_data_due"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_let_go(self) -> bool:
        """Whether its container is proven stopped and its GPUs are free again."""
        return self.stopped_at is not None

    @property
    def actions(self) -> list[str]:
        """What its renter may ask for now."""
        verbs = [verb for verb, states in ACTIONS.items() if self.state in states]
        waits = self.state == InstanceState.FAILED and not self.is_let_go
        return [verb for verb in verbs if not (waits and verb == "start")]


class Watch(models.Model):
    """A place in the wait list: tell its user, or rent for them, when GPUs that fit are free. First come, first served."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="watches")
    place = models.BigIntegerField(
        unique=True,
        editable=False,
        db_default=Func(Value("instances_watch_place"), function="nextval"),
        help_text="From a sequence: the order of the wait list.",
    )
    line = models.CharField(_("search"), max_length=500, help_text="In the grammar of the search box.")
    action = models.CharField(_("action"), max_length=6, choices=WatchAction, default=WatchAction.TELL)
    state = models.CharField(_("state"), max_length=9, choices=WatchState, default=WatchState.WAITING)
    generation = models.PositiveBigIntegerField(default=0)
    gpu_count = models.PositiveIntegerField(default=1)
    max_price_micros = models.BigIntegerField(null=True, blank=True, help_text="Per GPU and hour, disk included.")
    image = models.ForeignKey("storage.Image", on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    data_disk_gb = models.PositiveIntegerField(default=0)
    ssh_key_ids = ArrayField(models.UUIDField(), null=True, blank=True, help_text="Empty: all keys of the renter.")
    name = models.CharField(_("name"), max_length=80, blank=True)
    instance = models.OneToOneField(Instance, on_delete=models.PROTECT, null=True, blank=True, related_name="watch")
    offer = models.ForeignKey("marketplace.Offer", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    detail = models.CharField(max_length=300, blank=True, help_text="Why it failed: a code of `instances.notices`.")
    language = models.CharField(max_length=10, default="en", help_text="In which its user is written to.")
    created_at = models.DateTimeField(default=clock.now)
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    mailed_at = models.DateTimeField(null=True, blank=True, help_text="When its user was written to about its end.")

    class Meta:
        verbose_name = _("place in the wait list")
        verbose_name_plural = _("wait list")
        ordering = ("place",)
        constraints: ClassVar = [
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
        return f"watch {self.id}"


class InstancePort(models.Model):
    """A host port taken by a live instance: the wall against two instances on one port."""

    id = models.BigAutoField(primary_key=True)
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="taken_ports")
    host = models.ForeignKey("marketplace.Host", on_delete=models.CASCADE, related_name="+")
    host_port = models.PositiveIntegerField()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["host", "host_port"], name="one_instance_per_host_port")]

    def __str__(self) -> str:
        return str(self.host_port)


class InstanceEvent(models.Model):
    """What happened to an instance, in order: moves with their reason, and findings in the words the renter reads."""

    id = models.BigAutoField(primary_key=True)
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="events")
    kind = models.CharField(max_length=40)
    from_state = models.CharField(max_length=12, blank=True)
    to_state = models.CharField(max_length=12, blank=True)
    detail = models.CharField(max_length=300, blank=True)
    actor = models.CharField(max_length=80)
    at = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ("-id",)
        indexes: ClassVar = [models.Index(fields=["instance", "-id"], name="event_of_instance")]

    def __str__(self) -> str:
        return f"{self.kind} {self.at:%Y-%m-%d %H:%M:%S}"


class InstanceSample(models.Model):
    """Use of one instance at one time, as its agent measured it. CPU in percent of one core, memory in MiB."""

    id = models.BigAutoField(primary_key=True)
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="samples")
    at = models.DateTimeField()
    cpu_pct = models.FloatField()
    ram_mb = models.PositiveIntegerField()
    disk_mb = models.PositiveIntegerField()
    rx_bytes = models.BigIntegerField()
    tx_bytes = models.BigIntegerField()
    gpu_util_pct = models.FloatField(help_text="Mean over the instance's GPUs.")
    vram_used_mb = models.PositiveIntegerField(help_text="Sum over the instance's GPUs.")

    class Meta:
        indexes: ClassVar = [models.Index(fields=["instance", "at"], name="sample_of_instance")]

    def __str__(self) -> str:
        return f"{self.instance_id} {self.at:%H:%M:%S}"
