"""Serializers of offers and hosts, for the API and the OpenAPI document."""

from typing import Any

from rest_framework import serializers

from common.http.fields import AmountText, NameText
from common.http.message_schema import MessageOut
from marketplace.constants import MAX_TIERS, TIER_HOURS_MAX
from marketplace.states import Verification

_DISCOUNT = r"^0(\.[0-9]{1,4})?$"
_SHARE = r"^(0(\.[0-9]{1,4})?|1(\.0{1,4})?)$"


class OfferHost(serializers.Serializer[Any]):
    """Host of the offer's GPUs."""

    id = serializers.CharField()
    name = serializers.CharField()
    region = serializers.CharField()
    verified = serializers.BooleanField()
    runtime = serializers.CharField(help_text="docker or simulated")
    simulated = serializers.BooleanField(help_text="The runtime or the GPUs are simulated")
    state = serializers.CharField()
    cpu_model = serializers.CharField(allow_null=True)


class Pcie(serializers.Serializer[Any]):
    """The narrowest link of the offer's GPUs."""

    gen = serializers.IntegerField(allow_null=True)
    width = serializers.IntegerField(allow_null=True)


class OfferGpu(serializers.Serializer[Any]):
    """The model of the offer's GPUs."""

    model = serializers.CharField()
    slug = serializers.CharField()
    series = serializers.CharField(allow_null=True)
    architecture = serializers.CharField(allow_null=True)
    vram_gb = serializers.IntegerField()
    fp16_tflops = serializers.FloatField(allow_null=True)
    fp32_tflops = serializers.FloatField(allow_null=True)
    nvlink = serializers.BooleanField()
    pcie = Pcie()


class PerGpu(serializers.Serializer[Any]):
    """CPU and memory that come with each GPU."""

    cpu_cores = serializers.FloatField()
    ram_gb = serializers.FloatField()


class OfferDisk(serializers.Serializer[Any]):
    """The host's disk."""

    kind = serializers.CharField(allow_null=True)
    read_mbps = serializers.FloatField(allow_null=True, help_text="MB/s, median of the measurements")
    write_mbps = serializers.FloatField(allow_null=True)
    free_gb = serializers.IntegerField()
    measured_at = serializers.DateTimeField(allow_null=True)
    samples = serializers.IntegerField(help_text="Measurements so far")


class OfferNetwork(serializers.Serializer[Any]):
    """The host's network link."""

    up_mbps = serializers.FloatField(allow_null=True, help_text="Mbit/s against the control plane, median")
    down_mbps = serializers.FloatField(allow_null=True)
    measured_at = serializers.DateTimeField(allow_null=True)
    samples = serializers.IntegerField(help_text="Measurements so far")


class ReservedPrices(serializers.Serializer[Any]):
    """Prices per GPU-hour in a reserved term; null where the offer has none."""

    day = serializers.CharField(allow_null=True)
    week = serializers.CharField(allow_null=True)
    month = serializers.CharField(allow_null=True)
    year = serializers.CharField(allow_null=True)
    year3 = serializers.CharField(allow_null=True)


class Tier(serializers.Serializer[Any]):
    """Price per GPU-hour from this length of continuous use on."""

    from_hours = serializers.IntegerField()
    unit_price = serializers.CharField()


class SpotPrices(serializers.Serializer[Any]):
    """The spot market of this offer; null where it has none."""

    floor = serializers.CharField(allow_null=True)
    now = serializers.CharField(allow_null=True, help_text="Current spot price per GPU and hour")


class Prices(serializers.Serializer[Any]):
    """Decimal strings in the market's currency."""

    hourly = serializers.CharField()
    reserved = ReservedPrices()
    tiers = Tier(many=True)
    spot = SpotPrices()
    disk_gb_day = serializers.CharField(allow_null=True)
    free_disk_gb = serializers.IntegerField()
    hold_hourly = serializers.CharField(help_text="Per GPU and hour that a stopped instance keeps its GPUs")


class Offer(serializers.Serializer[Any]):
    """The GPUs of one model on one host; null means not measured or not offered."""

    id = serializers.CharField()
    host = OfferHost()
    gpu = OfferGpu()
    gpu_free = serializers.IntegerField()
    gpu_spot = serializers.IntegerField(help_text="Available in about two minutes, from spot instances")
    gpu_total = serializers.IntegerField()
    per_gpu = PerGpu()
    disk = OfferDisk()
    system_disk_gb = serializers.IntegerField(allow_null=True, help_text="Hard limit of the root; null: no limit")
    network = OfferNetwork()
    cuda = serializers.CharField(allow_null=True)
    driver = serializers.CharField(allow_null=True)
    reliability = serializers.FloatField(allow_null=True)
    max_lease_hours = serializers.IntegerField(allow_null=True, help_text="null: no end date")
    listed_until = serializers.DateTimeField(allow_null=True)
    prices = Prices()
    price = serializers.CharField(allow_null=True, help_text="Per GPU and hour, disk included; null: not offered")
    total = serializers.CharField(allow_null=True, help_text="Per hour for all requested GPUs")
    value = serializers.FloatField(allow_null=True, help_text="TFLOPS per unit of currency and hour")
    version = serializers.IntegerField(help_text="Increases with each change of price or specs")


class OwnGpu(serializers.Serializer[Any]):
    """One GPU of your host."""

    uuid = serializers.CharField()
    model = serializers.CharField()
    slug = serializers.CharField()
    name = serializers.CharField()
    vram_gb = serializers.IntegerField()
    index = serializers.IntegerField()
    present = serializers.BooleanField()
    healthy = serializers.BooleanField()
    leased = serializers.BooleanField()
    simulated = serializers.BooleanField()
    detail = serializers.CharField(allow_null=True)


class OwnDiscounts(serializers.Serializer[Any]):
    """Discount of each term on the hourly price, such as "0.2"; null means not sold."""

    day = serializers.CharField(allow_null=True)
    week = serializers.CharField(allow_null=True)
    month = serializers.CharField(allow_null=True)
    year = serializers.CharField(allow_null=True)
    year3 = serializers.CharField(allow_null=True)


class OwnTier(serializers.Serializer[Any]):
    """Discount from this many hours of continuous use on."""

    from_hours = serializers.IntegerField()
    discount = serializers.CharField()


class OwnOffer(serializers.Serializer[Any]):
    """One offer of your host."""

    id = serializers.CharField()
    gpu_model = serializers.CharField()
    listed = serializers.BooleanField()
    price_hourly = serializers.CharField(help_text="Per GPU and hour")
    reserved_discounts = OwnDiscounts()
    tiers = OwnTier(many=True)
    spot_floor = serializers.CharField(allow_null=True)
    disk_gb_day = serializers.CharField(help_text="Per GB above the free allowance and day")
    hold_share = serializers.CharField(help_text="Share of the on-demand price, for GPUs kept by a stopped instance")
    version = serializers.IntegerField()
    gpu_free = serializers.IntegerField()
    gpu_total = serializers.IntegerField()


class HostDisk(serializers.Serializer[Any]):
    """Disk of your host."""

    kind = serializers.CharField()
    total_gb = serializers.IntegerField()
    free_gb = serializers.IntegerField()
    root_limit = serializers.CharField(allow_null=True, help_text="disk: hard limit; none: monitored; null: older agent")
    read_mbps = serializers.IntegerField(allow_null=True, help_text="MB/s, median of `samples`; null: not measured")
    write_mbps = serializers.IntegerField(allow_null=True)
    measured_at = serializers.DateTimeField(allow_null=True)
    samples = serializers.IntegerField()


class HostNetwork(serializers.Serializer[Any]):
    """Network of your host, measured against the market."""

    up_mbps = serializers.IntegerField(allow_null=True, help_text="Mbit/s, median of `samples`; null: not measured")
    down_mbps = serializers.IntegerField(allow_null=True)
    measured_at = serializers.DateTimeField(allow_null=True)
    samples = serializers.IntegerField()


class HostPorts(serializers.Serializer[Any]):
    """Ports that instances may publish."""

    first = serializers.IntegerField()
    last = serializers.IntegerField()


class HostEvent(serializers.Serializer[Any]):
    """Event of your host."""

    at = serializers.DateTimeField()
    kind = serializers.CharField()
    detail = serializers.CharField()
    message = MessageOut(allow_null=True)
    actor = serializers.CharField()


class Host(serializers.Serializer[Any]):
    """Your host with its GPUs and offers."""

    id = serializers.CharField()
    name = serializers.CharField()
    region = serializers.CharField()
    state = serializers.CharField()
    verified = serializers.BooleanField()
    verification = serializers.ChoiceField(choices=Verification.choices)
    verified_at = serializers.DateTimeField(allow_null=True)
    draining = serializers.BooleanField()
    simulated = serializers.BooleanField()
    runtime = serializers.CharField()
    runtime_version = serializers.CharField(allow_null=True)
    address = serializers.CharField(help_text="Empty behind NAT")
    behind_nat = serializers.BooleanField(help_text="Renters reach it only through the relay")
    hostname = serializers.CharField()
    kernel = serializers.CharField(allow_null=True)
    cpu_model = serializers.CharField(allow_null=True)
    cpu_cores = serializers.IntegerField()
    ram_gb = serializers.FloatField()
    disk = HostDisk()
    network = HostNetwork()
    nvlink = serializers.BooleanField()
    driver = serializers.CharField(allow_null=True)
    cuda = serializers.CharField(allow_null=True)
    ports = HostPorts()
    warnings = serializers.ListField(child=serializers.CharField())
    agent_version = serializers.CharField(allow_null=True)
    engine_age_s = serializers.FloatField()
    reliability = serializers.FloatField(allow_null=True)
    listed_until = serializers.DateTimeField(allow_null=True, help_text="null: no end date")
    enrolled_at = serializers.DateTimeField()
    agent_revoked_at = serializers.DateTimeField(allow_null=True, help_text="Refused until the host is added again")
    last_seen_at = serializers.DateTimeField()
    gpus = OwnGpu(many=True)
    offers = OwnOffer(many=True)


class HostDetail(Host):
    """Your host with its last events."""

    events = HostEvent(many=True)


class HostPage(serializers.Serializer[Any]):
    """A page of your hosts."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = Host(many=True)


class ReservedDiscounts(serializers.Serializer[Any]):
    """Discount of each term on the hourly price, such as "0.2"; null means not sold."""

    day = serializers.RegexField(_DISCOUNT, required=False, allow_null=True)
    week = serializers.RegexField(_DISCOUNT, required=False, allow_null=True)
    month = serializers.RegexField(_DISCOUNT, required=False, allow_null=True)
    year = serializers.RegexField(_DISCOUNT, required=False, allow_null=True)
    year3 = serializers.RegexField(_DISCOUNT, required=False, allow_null=True)


class TierDiscount(serializers.Serializer[Any]):
    """Discount from this many hours of continuous use on."""

    from_hours = serializers.IntegerField(min_value=1, max_value=TIER_HOURS_MAX)
    discount = serializers.RegexField(_DISCOUNT)


class ListingChange(serializers.Serializer[Any]):
    """New prices or listing of one offer; omitted fields stay."""

    id = serializers.CharField(help_text="Of the offer")
    price_hourly = AmountText(required=False)
    listed = serializers.BooleanField(required=False)
    reserved_discounts = ReservedDiscounts(required=False, help_text="Omitted terms are unchanged")
    tiers = TierDiscount(  # type: ignore[call-arg]  # the list around it takes max_length
        many=True, required=False, max_length=MAX_TIERS, help_text="Replaces all steps; in ascending order"
    )
    spot_floor = AmountText(required=False, allow_null=True, help_text="null: no spot market")
    disk_gb_day = AmountText(required=False, help_text="Per GB above the free allowance and day")
    hold_share = serializers.RegexField(_SHARE, required=False, help_text='Of the hourly price, "0" to "1"')


class Listing(serializers.Serializer[Any]):
    """Changes to a host's offers, and until when it stays: all or none."""

    offers = ListingChange(many=True, required=False, allow_empty=False)
    listed_until = serializers.DateTimeField(
        required=False, allow_null=True, help_text="null: no end date. Never before the promised end of existing leases"
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError({"offers": [serializers.ErrorDetail("Name at least one change.", "required")]})
        return attrs


class Maintenance(serializers.Serializer[Any]):
    """Whether the host takes new rents."""

    draining = serializers.BooleanField(help_text="true: pause new rentals; running instances continue")


class JoinTokenIn(serializers.Serializer[Any]):
    """A host to be enrolled."""

    host_name = NameText(max_length=80)
    region = NameText(max_length=40)
    price_hourly = AmountText(help_text="Initial price per GPU and hour; 0 keeps offers unlisted")


class JoinToken(serializers.Serializer[Any]):
    """A single-use token; `token` and `command` are shown once and null when the response is repeated."""

    id = serializers.CharField()
    host_name = serializers.CharField()
    region = serializers.CharField()
    price_hourly = serializers.CharField()
    expires_at = serializers.DateTimeField()
    token = serializers.CharField(allow_null=True)
    command = serializers.CharField(allow_null=True)
