"""The shapes of requests, checked, and of replies, for the OpenAPI document."""

from typing import Any

from rest_framework import serializers

from marketplace.policy import MAX_GPUS_PER_HOST, PAGE_SIZE, PAGE_SIZE_MAX
from marketplace.selectors import SORTS

_SORT_NAMES = [sign + name for name in SORTS for sign in ("", "-")]
_PRICE = r"^\d{1,9}(\.\d{1,6})?$"


class OfferQuery(serializers.Serializer[Any]):
    """Filters of the offer list."""

    gpu_model = serializers.ListField(child=serializers.SlugField(), required=False, help_text="Slug; repeatable")
    region = serializers.ListField(child=serializers.CharField(max_length=40), required=False, help_text="Repeatable")
    gpu_count = serializers.IntegerField(min_value=1, max_value=MAX_GPUS_PER_HOST, default=1)
    price_max = serializers.RegexField(_PRICE, required=False, help_text="Per GPU and hour")
    vram_gb_min = serializers.IntegerField(min_value=0, max_value=10_000, required=False)
    runtime = serializers.ChoiceField(["docker", "simulated"], required=False)
    simulated = serializers.BooleanField(required=False, allow_null=True, default=None)
    sort = serializers.ChoiceField(_SORT_NAMES, default="price")
    limit = serializers.IntegerField(min_value=1, max_value=PAGE_SIZE_MAX, default=PAGE_SIZE)
    cursor = serializers.CharField(required=False, max_length=200)


class OfferHost(serializers.Serializer[Any]):
    """Where the offer's GPUs stand."""

    id = serializers.CharField()
    name = serializers.CharField()
    region = serializers.CharField()
    verified = serializers.BooleanField()
    runtime = serializers.CharField(help_text="docker or simulated")
    simulated = serializers.BooleanField(help_text="The runtime or the GPUs are simulated")
    state = serializers.CharField()
    cpu_model = serializers.CharField(allow_null=True)


class OfferGpu(serializers.Serializer[Any]):
    """The model of the offer's GPUs."""

    model = serializers.CharField()
    slug = serializers.CharField()
    series = serializers.CharField(allow_null=True)
    architecture = serializers.CharField(allow_null=True)
    vram_gb = serializers.IntegerField()


class PerGpu(serializers.Serializer[Any]):
    """What each GPU brings along."""

    cpu_cores = serializers.FloatField()
    ram_gb = serializers.FloatField()


class OfferDisk(serializers.Serializer[Any]):
    """The host's disk."""

    kind = serializers.CharField(allow_null=True)
    read_mbps = serializers.FloatField(allow_null=True)
    write_mbps = serializers.FloatField(allow_null=True)
    free_gb = serializers.IntegerField()


class OfferNetwork(serializers.Serializer[Any]):
    """The host's link."""

    up_mbps = serializers.FloatField(allow_null=True)
    down_mbps = serializers.FloatField(allow_null=True)


class ReservedPrices(serializers.Serializer[Any]):
    """Prices per GPU-hour in a reserved term; null where the offer has none."""

    day = serializers.CharField(allow_null=True)
    week = serializers.CharField(allow_null=True)
    month = serializers.CharField(allow_null=True)
    year = serializers.CharField(allow_null=True)
    year3 = serializers.CharField(allow_null=True)


class Tier(serializers.Serializer[Any]):
    """The price per GPU-hour from a length of continuous use on."""

    from_hours = serializers.IntegerField()
    unit_price = serializers.CharField()


class SpotPrices(serializers.Serializer[Any]):
    """The spot market of this offer; null where it has none."""

    floor = serializers.CharField(allow_null=True)
    now = serializers.CharField(allow_null=True)


class Prices(serializers.Serializer[Any]):
    """Decimal strings in the market's currency."""

    hourly = serializers.CharField()
    reserved = ReservedPrices()
    tiers = Tier(many=True)
    spot = SpotPrices()
    disk_gb_day = serializers.CharField(allow_null=True)
    free_disk_gb = serializers.IntegerField()


class Offer(serializers.Serializer[Any]):
    """The GPUs of one model on one host. null: not measured or not offered."""

    id = serializers.CharField()
    host = OfferHost()
    gpu = OfferGpu()
    gpu_free = serializers.IntegerField()
    gpu_total = serializers.IntegerField()
    per_gpu = PerGpu()
    disk = OfferDisk()
    network = OfferNetwork()
    cuda = serializers.CharField(allow_null=True)
    driver = serializers.CharField(allow_null=True)
    reliability = serializers.FloatField(allow_null=True)
    max_lease_hours = serializers.IntegerField(allow_null=True)
    prices = Prices()
    version = serializers.IntegerField(help_text="Grows with each change of price or shape")


class OfferPage(serializers.Serializer[Any]):
    """A page of offers; `next` and `previous` are addresses."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = Offer(many=True)


class FacetChoice(serializers.Serializer[Any]):
    """One choice of a filter."""

    value = serializers.JSONField(help_text="As the filter takes it")
    label = serializers.CharField()  # type: ignore[assignment]  # fields are taken off the class, which has a `label`
    count = serializers.IntegerField()
    price_min = serializers.CharField(allow_null=True)


class Facets(serializers.Serializer[Any]):
    """Counts for each choice; a list ignores its own filter."""

    total = serializers.IntegerField()
    gpu_model = FacetChoice(many=True)
    region = FacetChoice(many=True)
    runtime = FacetChoice(many=True)
    simulated = FacetChoice(many=True)
    gpu_count = FacetChoice(many=True)


class OwnGpu(serializers.Serializer[Any]):
    """One GPU of an own host."""

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


class OwnOffer(serializers.Serializer[Any]):
    """One offer of an own host."""

    id = serializers.CharField()
    gpu_model = serializers.CharField()
    listed = serializers.BooleanField()
    price_hourly = serializers.CharField(help_text="Per GPU and hour")
    version = serializers.IntegerField()
    gpu_free = serializers.IntegerField()
    gpu_total = serializers.IntegerField()


class HostDisk(serializers.Serializer[Any]):
    """An own host's disk."""

    kind = serializers.CharField()
    total_gb = serializers.IntegerField()
    free_gb = serializers.IntegerField()


class HostPorts(serializers.Serializer[Any]):
    """The ports that instances may publish."""

    first = serializers.IntegerField()
    last = serializers.IntegerField()


class HostEvent(serializers.Serializer[Any]):
    """What happened to an own host."""

    at = serializers.DateTimeField()
    kind = serializers.CharField()
    detail = serializers.CharField()
    actor = serializers.CharField()


class Host(serializers.Serializer[Any]):
    """An own host with its GPUs and offers."""

    id = serializers.CharField()
    name = serializers.CharField()
    region = serializers.CharField()
    state = serializers.CharField()
    verified = serializers.BooleanField()
    draining = serializers.BooleanField()
    simulated = serializers.BooleanField()
    runtime = serializers.CharField()
    runtime_version = serializers.CharField(allow_null=True)
    address = serializers.CharField()
    hostname = serializers.CharField()
    kernel = serializers.CharField(allow_null=True)
    cpu_model = serializers.CharField(allow_null=True)
    cpu_cores = serializers.IntegerField()
    ram_gb = serializers.FloatField()
    disk = HostDisk()
    driver = serializers.CharField(allow_null=True)
    cuda = serializers.CharField(allow_null=True)
    ports = HostPorts()
    warnings = serializers.ListField(child=serializers.CharField())
    agent_version = serializers.CharField(allow_null=True)
    engine_age_s = serializers.FloatField()
    reliability = serializers.FloatField(allow_null=True)
    enrolled_at = serializers.DateTimeField()
    last_seen_at = serializers.DateTimeField()
    gpus = OwnGpu(many=True)
    offers = OwnOffer(many=True)


class HostDetail(Host):
    """An own host with its last events."""

    events = HostEvent(many=True)


class HostPage(serializers.Serializer[Any]):
    """A page of own hosts."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = Host(many=True)


class ListingChange(serializers.Serializer[Any]):
    """A new price or listing of one offer; what is left out stays."""

    id = serializers.CharField(help_text="Of the offer")
    price_hourly = serializers.RegexField(_PRICE, required=False)
    listed = serializers.BooleanField(required=False)


class Listing(serializers.Serializer[Any]):
    """Changes to a host's offers, all or none."""

    offers = ListingChange(many=True, allow_empty=False)


class Maintenance(serializers.Serializer[Any]):
    """Whether the host takes new rents."""

    draining = serializers.BooleanField(help_text="true: no new rents, running ones go on")


class JoinTokenIn(serializers.Serializer[Any]):
    """A host to be enrolled."""

    host_name = serializers.CharField(max_length=80)
    region = serializers.CharField(max_length=40)
    price_hourly = serializers.RegexField(_PRICE, help_text="First price per GPU and hour; 0 keeps offers off the market")


class JoinToken(serializers.Serializer[Any]):
    """A one-use token; `token` and `command` are shown once and null when the reply is repeated."""

    id = serializers.CharField()
    host_name = serializers.CharField()
    region = serializers.CharField()
    price_hourly = serializers.CharField()
    expires_at = serializers.DateTimeField()
    token = serializers.CharField(allow_null=True)
    command = serializers.CharField(allow_null=True)
