"""What OpenAPI says about instances and quotes. Replies are made by `shapes`; a test holds the two equal."""

from typing import Any

from rest_framework import serializers

from billing.estimates import MODES
from instances.notices import REASONS
from instances.states import WatchAction, WatchState
from marketplace.policy import DATA_DISK_GB_MAX
from marketplace.prices import TERM_HOURS

MONEY = r"^\d{1,9}(\.\d{1,6})?$"
Text, Time, Whole, Number = (
    serializers.CharField,
    serializers.DateTimeField,
    serializers.IntegerField,
    serializers.FloatField,
)


class QuoteIn(serializers.Serializer[Any]):
    """What is to be rented."""

    offer = Text(help_text="offr_…")
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
    max_price = serializers.RegexField(
        MONEY, required=False, allow_null=True, help_text="Of a spot quote: the most per GPU and hour, the floor at least"
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
    hours = Whole()
    term = Text(allow_null=True)
    payment = Text(allow_null=True)
    max_price = Text(allow_null=True, help_text="Per GPU and hour")
    lines = QuoteLine(many=True, help_text="They add up to the projection")
    due_now = Text(help_text="Held at the order, charged by the second of proven running; of a term paid upfront all of it")
    hourly_rate = Text(help_text="Of all GPUs, disk included, to begin with")
    projected_total = Text(help_text="For `hours`; a term paid upfront counts whole")
    commitment_total = Text(allow_null=True, help_text="Of a reserved quote: its GPUs through the term, used or not")
    orderable = serializers.BooleanField(help_text="false: this mode, or a disk that costs, can only be compared so far")
    signature = Text(help_text="Proof of these terms; send it with the order to have it checked")
    created_at = Time()
    expires_at = Time()
    used_at = Time(allow_null=True)


class InstanceIn(serializers.Serializer[Any]):
    """An order."""

    quote_id = Text(help_text="quot_…")
    offer = Text(required=False, allow_null=True, help_text="This and the next ones: refused unless the quote says the same")
    image = Text(required=False, allow_null=True, help_text="Slug or img_…")
    gpu_count = Whole(min_value=1, required=False, allow_null=True)
    billing_mode = serializers.ChoiceField(choices=list(MODES), required=False, allow_null=True)
    data_disk_gb = Whole(min_value=0, required=False, allow_null=True)
    term = serializers.ChoiceField(choices=list(TERM_HOURS), required=False, allow_null=True)
    payment = serializers.ChoiceField(choices=["upfront", "none"], required=False, allow_null=True)
    max_total = serializers.RegexField(
        MONEY, required=False, allow_null=True, help_text="Refused when due_now or projected_total is more"
    )
    signature = Text(required=False, allow_null=True, max_length=128, help_text="As the quote has it")
    name = Text(max_length=80, allow_blank=True, default="")
    ssh_key_ids = serializers.ListField(
        child=Text(), required=False, allow_null=True, max_length=100, help_text="key_…; left out: all of the account"
    )


class InstancePatch(serializers.Serializer[Any]):
    """What can be changed without moving the instance."""

    name = Text(max_length=80)


class StartIn(serializers.Serializer[Any]):
    """How to start again."""

    max_hourly_rate = Text(
        required=False, allow_null=True, help_text="Accept a price that has risen since, up to this much an hour"
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
    """What GPUs the instance has."""

    model = Text()
    slug = Text()
    count = Whole()


class InstanceGpu(serializers.Serializer[Any]):
    """A GPU that is leased to the instance now."""

    uuid = Text()
    model = Text()


class InstanceBilling(serializers.Serializer[Any]):
    """What it costs."""

    mode = Text()
    hourly_rate = Text()
    cost_so_far = Text()
    next_charge_at = Time(allow_null=True)


class SshAccess(serializers.Serializer[Any]):
    """How to log in."""

    host = Text()
    port = Whole()
    user = Text()
    command = Text()


class InstanceAccess(serializers.Serializer[Any]):
    """How to get in. The addresses stand from the order on and answer while the instance runs."""

    ssh = SshAccess(allow_null=True)
    jupyter_url = Text(allow_null=True)
    tensorboard_url = Text(allow_null=True)


class PortPair(serializers.Serializer[Any]):
    """A port of the container and where the host publishes it."""

    container = Whole()
    host = Whole()


class AccessOut(InstanceAccess):
    """Every way in."""

    jupyter_token = Text(allow_null=True)
    ports = PortPair(many=True)
    ssh_keys = serializers.ListField(child=Text())


class InstanceFailure(serializers.Serializer[Any]):
    """Why it failed."""

    code = Text()
    detail = Text(allow_blank=True)
    fault_of = serializers.ChoiceField(choices=["renter", "host", "platform"])


class InstanceOut(serializers.Serializer[Any]):
    """The renter's container."""

    id = Text()
    name = Text()
    state = Text()
    desired = Text()
    actions = serializers.ListField(child=Text(), help_text="What can be asked for now")
    progress = Text(allow_blank=True)
    host = InstanceHost()
    offer = Text()
    gpu = InstanceGpuModel()
    gpus = InstanceGpu(many=True)
    cpu_cores = Number()
    ram_gb = Number()
    image = Text()
    data_disk_gb = Whole()
    billing = InstanceBilling()
    access = InstanceAccess()
    reachable = serializers.BooleanField(help_text="false while its host does not report")
    health = Text(help_text="ok, unreachable, overdue, failed or gone")
    failure = InstanceFailure(allow_null=True)
    release_at = Time(allow_null=True, help_text="Until then the data of a stopped instance is kept")
    created_at = Time()
    started_at = Time(allow_null=True)
    stopped_at = Time(allow_null=True)
    released_at = Time(allow_null=True)


class EventOut(serializers.Serializer[Any]):
    """What happened."""

    kind = Text()
    from_state = Text(allow_null=True)
    to_state = Text(allow_null=True)
    detail = Text(allow_blank=True)
    actor = Text()
    at = Time()


class ChargeOut(serializers.Serializer[Any]):
    """One charge."""

    at = Time()
    what = Text()
    period_from = Time()
    period_to = Time()
    seconds = Number()
    hourly_rate = Text()
    amount = Text()


class UsageOut(InstanceBilling):
    """What the instance has cost."""

    settled = Text()
    accrued = Text()
    given_back = Text()
    seconds = Whole()
    lines = ChargeOut(many=True)


class MetricsIn(serializers.Serializer[Any]):
    """The stretch of time to look at."""

    minutes = Whole(min_value=1, max_value=10_080, default=60, help_text="How far to look back")


class MetricsPoint(serializers.Serializer[Any]):
    """Mean use over one step of time."""

    at = Time()
    cpu_pct = Number(help_text="Percent of one core")
    ram_mb = Number()
    disk_mb = Whole()
    rx_bytes = Whole()
    tx_bytes = Whole()
    gpu_util_pct = Number(help_text="Mean of the instance's GPUs")
    vram_used_mb = Number(help_text="Sum of the instance's GPUs")


class MetricsOut(serializers.Serializer[Any]):
    """Use over time, oldest first."""

    points = MetricsPoint(many=True)


class WatchIn(serializers.Serializer[Any]):
    """A place in the wait list. To rent, it needs an image (here or in the search) and a highest price."""

    q = Text(max_length=500, allow_blank=True, help_text="What to wait for, as in the search line of the market")
    action = serializers.ChoiceField(choices=WatchAction.values, default=WatchAction.TELL)
    image = Text(required=False, default="", allow_blank=True, help_text="Slug or img_…; left out: as in the search")
    max_price = Text(required=False, allow_null=True, default=None, help_text="The most per GPU and hour, disk included")
    data_disk_gb = Whole(
        min_value=0, max_value=DATA_DISK_GB_MAX, allow_null=True, default=None, help_text="Left out: as in the search"
    )
    ssh_key_ids = serializers.ListField(
        child=Text(), required=False, allow_null=True, max_length=100, help_text="key_…; left out: all of the account"
    )
    name = Text(max_length=80, allow_blank=True, default="", help_text="Of the instance that is rented")
    expires_in_hours = Whole(min_value=1, max_value=720, default=168)


class WatchOut(serializers.Serializer[Any]):
    """A place in the wait list and what has come of it."""

    id = Text()
    q = Text(allow_blank=True)
    action = serializers.ChoiceField(choices=WatchAction.values)
    state = serializers.ChoiceField(choices=WatchState.values)
    ahead = Whole(allow_null=True, help_text="How many waiting places are before it; null when it waits no more")
    gpu_count = Whole()
    image = Text(allow_null=True)
    max_price = Text(allow_null=True, help_text="Per GPU and hour, disk included")
    data_disk_gb = Whole()
    name = Text(allow_blank=True)
    held = Text(help_text="Set aside for it now: one hour of all its GPUs at the highest price")
    offer = Text(allow_null=True, help_text="Where it was served")
    instance = Text(allow_null=True, help_text="What was rented")
    reason = Text(allow_null=True, help_text="Why it failed: " + ", ".join(REASONS))
    created_at = Time()
    expires_at = Time()
    ended_at = Time(allow_null=True)
