"""What OpenAPI says about instances and quotes. Replies are made by `shapes`; a test holds the two equal."""

from typing import Any

from rest_framework import serializers

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
    billing_mode = serializers.ChoiceField(choices=["hourly"], default="hourly")
    image = Text(default="berth-base", help_text="Slug or img_…")
    data_disk_gb = Whole(min_value=0, max_value=1_000_000, default=0)
    hours = Whole(min_value=1, max_value=26_280, default=1, help_text="How long the projection looks ahead")


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
    lines = QuoteLine(many=True)
    due_now = Text(help_text="Held at the order, charged by the second of proven running")
    hourly_rate = Text()
    projected_total = Text()
    created_at = Time()
    expires_at = Time()
    used_at = Time(allow_null=True)


class InstanceIn(serializers.Serializer[Any]):
    """An order."""

    quote_id = Text(help_text="quot_…")
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
