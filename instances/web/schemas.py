"""OpenAPI schemas of instances and quotes; a test compares them with what the serializers return."""

from typing import Any

from rest_framework import serializers

from billing.pricing.estimates import MODES
from common.http.fields import AmountText, NameText
from common.http.message_schema import MessageOut
from instances.web.lifecycle.serializers import InstanceReimage, InstanceSetback
from instances.web.metering.serializers import InstanceBilling
from instances.web.schedules.serializers import IdleStop, PlaceInLine, Retention, Schedule, SettingsPatch
from marketplace.pricing.prices import TERM_HOURS

Text, Time, Whole, Number = (
    serializers.CharField,
    serializers.DateTimeField,
    serializers.IntegerField,
    serializers.FloatField,
)


class QuoteIn(serializers.Serializer[Any]):
    """What to rent, or which instance to change."""

    offer = Text(required=False, allow_null=True, help_text="offr_…; required unless `instance` is given")
    instance = Text(
        required=False,
        allow_null=True,
        help_text="inst_…: a change in place of this instance; then offer, GPUs, image and disk are its own",
    )
    gpu_count = Whole(min_value=1, max_value=64, default=1)
    billing_mode = serializers.ChoiceField(choices=list(MODES), default="hourly")
    image = Text(default="berth-base", help_text="Slug or img_…")
    data_disk_gb = Whole(min_value=0, max_value=1_000_000, default=0, help_text="Above the free quota it costs per GB-day")
    term = serializers.ChoiceField(
        choices=list(TERM_HOURS), required=False, allow_null=True, help_text="Of a reserved quote; one that the offer sells"
    )
    payment = serializers.ChoiceField(
        choices=["upfront", "none"], required=False, allow_null=True, help_text="Of a reserved quote; left out: upfront"
    )
    max_price = AmountText(
        required=False, allow_null=True, help_text="Of a spot quote: the most per GPU and hour, the floor at least"
    )
    hours = Whole(
        min_value=1,
        max_value=26_280,
        required=False,
        allow_null=True,
        help_text="How long the projection looks ahead; left out: the whole term, else one hour",
    )


class QuoteLine(serializers.Serializer[Any]):
    """One line of the projection."""

    item = Text()
    quantity = Text()
    unit = Text()
    unit_price = Text()
    amount = Text()


class QuoteOut(serializers.Serializer[Any]):
    """An all-in price, good for one order until `expires_at`."""

    id = Text()
    offer = Text()
    gpu_count = Whole()
    billing_mode = Text()
    image = Text()
    data_disk_gb = Whole()
    system_disk_gb = Whole(allow_null=True, help_text="Hard limit of the root beside the image; null: its host has none")
    hours = Whole()
    term = Text(allow_null=True)
    payment = Text(allow_null=True)
    max_price = Text(allow_null=True, help_text="Per GPU and hour")
    lines = QuoteLine(many=True, help_text="They add up to the projection")
    due_now = Text(help_text="Held at the order, charged by the second of proven running; of a term paid upfront all of it")
    hourly_rate = Text(help_text="Of all GPUs, disk included, to begin with; of a change in place of the GPUs alone")
    projected_total = Text(help_text="For `hours`; a term paid upfront counts whole")
    commitment_total = Text(allow_null=True, help_text="Of a reserved quote: its GPUs through the term, used or not")
    deposit = Text(help_text="Of due_now: held until a term that is paid by the hour ends; against an early end")
    pays_host = serializers.ChoiceField(
        choices=["all", "cash", "nothing"],
        help_text="What of it the host's owner is paid: `nothing` of their own rentals, of their teammates' only `cash`",
    )
    instance = Text(allow_null=True, help_text="Of a change in place: what it changes")
    signature = Text(help_text="Proof of these terms; send it with the order to have it checked")
    created_at = Time()
    expires_at = Time()
    used_at = Time(allow_null=True)


class InstanceIn(serializers.Serializer[Any]):
    """An order."""

    quote_id = Text(help_text="quot_…")
    auto_renew = serializers.BooleanField(default=False, help_text="Of a reserved term: again at its end, at the price then")
    offer = Text(required=False, allow_null=True, help_text="This and the next ones: refused unless the quote says the same")
    image = Text(required=False, allow_null=True, help_text="Slug or img_…")
    gpu_count = Whole(min_value=1, required=False, allow_null=True)
    billing_mode = serializers.ChoiceField(choices=list(MODES), required=False, allow_null=True)
    data_disk_gb = Whole(min_value=0, required=False, allow_null=True)
    term = serializers.ChoiceField(choices=list(TERM_HOURS), required=False, allow_null=True)
    payment = serializers.ChoiceField(choices=["upfront", "none"], required=False, allow_null=True)
    max_total = AmountText(required=False, allow_null=True, help_text="Refused when due_now or projected_total is more")
    signature = Text(required=False, allow_null=True, max_length=128, help_text="As the quote has it")
    name = NameText(max_length=80, allow_blank=True, default="")
    ssh_key_ids = serializers.ListField(
        child=Text(),
        required=False,
        allow_null=True,
        max_length=100,
        help_text="key_…; left out: all of the account, those added later too",
    )
    volume_ids = serializers.ListField(
        child=Text(), max_length=8, default=list, help_text="vol_…: volumes on the offer's host, found at /mnt/<name>"
    )
    data_sets = serializers.ListField(
        child=Text(max_length=40), max_length=8, default=list, help_text="Public data sets there, found at /pub/<slug>"
    )
    ports = serializers.ListField(
        child=Whole(min_value=1, max_value=65_535), max_length=8, default=list, help_text="Extra container ports to publish"
    )


class InstancePatch(SettingsPatch):
    """Settings to change; what you leave out stays as it is."""

    name = NameText(max_length=80, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError("Say what to change: name, locked, schedule or idle_stop.")
        return attrs


class StartIn(serializers.Serializer[Any]):
    """How to start again."""

    mode = serializers.ChoiceField(
        choices=["gpu", "cpu"],
        default="gpu",
        help_text="cpu: without its GPUs, half a core and 2 GB at `billing.cpu_hourly_rate`; nothing is leased",
    )
    max_hourly_rate = Text(
        required=False, allow_null=True, help_text="Accept a price that has risen since, up to this much an hour"
    )
    volume_ids = serializers.ListField(
        child=Text(),
        required=False,
        allow_null=True,
        max_length=8,
        help_text="vol_…: with these volumes and no others; left out: with those that it has",
    )
    wait = serializers.BooleanField(
        default=False, help_text="When its GPUs are taken: stand in line for them, one hour's money held, up to 7 days"
    )


class InstanceHost(serializers.Serializer[Any]):
    """Where the instance runs."""

    id = Text()
    name = Text()
    region = Text()
    verified = serializers.BooleanField()
    runtime = Text()
    simulated = serializers.BooleanField()


class InstanceGpuModel(serializers.Serializer[Any]):
    """Model and number of the instance's GPUs."""

    model = Text()
    slug = Text()
    count = Whole()


class InstanceGpu(serializers.Serializer[Any]):
    """A GPU that is leased to the instance now."""

    uuid = Text()
    model = Text()


class SshAccess(serializers.Serializer[Any]):
    """Address and command for SSH."""

    host = Text()
    port = Whole()
    user = Text()
    command = Text()


class InstanceAccess(serializers.Serializer[Any]):
    """Addresses of the instance.

    They are fixed from the order on and answer while it runs.
    """

    ssh = SshAccess(allow_null=True)
    jupyter_url = Text(allow_null=True, help_text="Holds its token; null without the scope instances:connect")
    tensorboard_url = Text(allow_null=True, help_text="null without the scope instances:connect")


class PortPair(serializers.Serializer[Any]):
    """A port of the container, and the host port that it is published on."""

    container = Whole()
    host = Whole()
    extra = serializers.BooleanField(help_text="Opened by the renter, beside the image's own")


class AccessOut(InstanceAccess):
    """All access to the instance: addresses, ports, keys, password, allowed networks."""

    jupyter_token = Text(allow_null=True, help_text="null without the scope instances:connect")
    ports = PortPair(many=True)
    ports_pending = serializers.BooleanField(help_text="The ports change at the next start or restart")
    ssh_keys = serializers.ListField(child=Text(), help_text="Public keys that let in now")
    all_keys = serializers.BooleanField(help_text="Every key of the account lets in, those added later too")
    password_set_at = Time(allow_null=True, help_text="null: SSH takes no password")
    allow_from = serializers.ListField(child=Text(), help_text="Networks from which SSH answers; empty: from everywhere")
    allow_from_kept = serializers.BooleanField(
        allow_null=True,
        help_text="Whether its host keeps such a list: false, one is refused; null, its agent does not say",
    )


class InstanceFailure(serializers.Serializer[Any]):
    """Why the instance failed."""

    code = Text()
    detail = Text(allow_blank=True)
    message = MessageOut(allow_null=True)
    fault_of = serializers.ChoiceField(choices=["renter", "host", "platform", "nobody"])


class InstanceOut(serializers.Serializer[Any]):
    """An instance."""

    id = Text()
    name = Text()
    state = Text()
    desired = Text()
    actions = serializers.ListField(child=Text(), help_text="What can be asked for now")
    progress = Text(allow_blank=True)
    progress_message = MessageOut(allow_null=True)
    host = InstanceHost()
    offer = Text()
    gpu = InstanceGpuModel()
    gpus = InstanceGpu(many=True)
    cpu_cores = Number()
    ram_gb = Number()
    image = Text()
    data_disk_gb = Whole()
    system_disk_gb = Whole(allow_null=True, help_text="Hard limit of the root beside the image; null: its host has none")
    billing = InstanceBilling()
    access = InstanceAccess()
    reachable = serializers.BooleanField(help_text="false while its host does not report")
    health = Text(help_text="ok, unreachable, overdue, failed or gone")
    failure = InstanceFailure(allow_null=True)
    without_gpu = serializers.BooleanField(help_text="true: the present run is one without GPUs")
    reimage = InstanceReimage(allow_null=True)
    setback = InstanceSetback(allow_null=True)
    release_at = Time(allow_null=True, help_text="Until then the data of a stopped instance is kept")
    retention = Retention(allow_null=True)
    locked = serializers.BooleanField()
    schedule = Schedule()
    idle_stop = IdleStop(allow_null=True)
    line = PlaceInLine(allow_null=True)
    created_at = Time()
    started_at = Time(allow_null=True)
    stopped_at = Time(allow_null=True)
    released_at = Time(allow_null=True)


class EventOut(serializers.Serializer[Any]):
    """An event of an instance."""

    kind = Text()
    from_state = Text(allow_null=True)
    to_state = Text(allow_null=True)
    detail = Text(allow_blank=True)
    message = MessageOut(allow_null=True)
    actor = Text()
    at = Time()


class ChargeOut(serializers.Serializer[Any]):
    """One charge."""

    at = Time()
    what = Text()
    source_kind = Text(help_text="instance (its GPUs), disk, hold (GPUs kept while stopped) or term")
    period_from = Time(allow_null=True)
    period_to = Time(allow_null=True)
    seconds = Number(allow_null=True)
    hourly_rate = Text(allow_null=True, help_text="null where it is priced by the day, or paid at once")
    rate = Text(allow_null=True)
    per = Text(allow_null=True, help_text="hour or day")
    amount = Text()


class UsageOut(InstanceBilling):
    """What the instance has cost."""

    settled = Text()
    accrued = Text()
    given_back = Text()
    seconds = Whole()
    lines = ChargeOut(many=True)
