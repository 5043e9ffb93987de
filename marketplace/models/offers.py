"""Offers, and the history of their prices."""

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from common import clock
from common.ids import new_uuid
from common.printable import Printable, PrintableField
from marketplace.constants import DEFAULT_HOLD_BPS, DEFAULT_TIERS
from marketplace.models.hosts import Host
from marketplace.states import HostState


def default_tiers() -> list[list[int]]:
    return [list(step) for step in DEFAULT_TIERS]


class Offer(models.Model):
    """GPUs of one model on one host, at a price; denormalised for search, and written only by services.

    `gpu_free` counts GPUs that are present, healthy, without a live lease and claimed by no waiting order;
    `gpu_spot` those that a further order would get after the notice of spot rents. Both are 0 while the host is
    not open (silent, frozen, draining, unlisted). `version` grows with each change of price or shape, so that a
    quote can be checked.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    # Every rent and release rewrites all indexes of the row, so there are few. The unique constraint serves
    # lookups by host.
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="offers", db_index=False, verbose_name=_("host"))
    gpu_model = models.SlugField(_("GPU model"), max_length=60, db_index=False)
    region = PrintableField(_("region"), max_length=40)
    runtime = models.CharField(_("runtime"), max_length=10, default="docker")
    simulated = models.BooleanField(_("simulated"), default=False)
    # Copies of the host's facts, so that search reads one table. Only `leasing.availability` writes them.
    host_name = PrintableField(_("host name"), max_length=80, default="")
    host_state = models.CharField(_("host state"), max_length=10, default=HostState.ONLINE)
    draining = models.BooleanField(_("closed to new rentals"), default=False)
    verified = models.BooleanField(_("verified"), default=False)
    reliability_ppm = models.PositiveIntegerField(_("reliability (millionths)"), null=True, blank=True)
    listed_until = models.DateTimeField(_("rentable until"), null=True, blank=True)
    cpu_model = models.CharField(_("CPU model"), max_length=120, default="", blank=True)
    driver = models.CharField(_("driver"), max_length=40, default="", blank=True)
    cuda = models.CharField(_("CUDA"), max_length=10, default="", blank=True)
    nvlink = models.BooleanField("NVLink", default=False)
    pcie_gen = models.PositiveIntegerField(_("PCIe generation"), default=0, help_text="The least of its GPUs.")
    pcie_width = models.PositiveIntegerField(_("PCIe lanes"), default=0)
    disk_kind = models.CharField(_("disk type"), max_length=10, default="unknown")
    disk_free_gb = models.PositiveIntegerField(
        _("free disk (GB)"), default=0, help_text="Beside a system disk, rounded down to tens: it changes with every file."
    )
    system_disk_gb = models.PositiveIntegerField(
        _("system disk (GB)"), db_default=0, help_text="Hard limit of each root; 0: the host has none."
    )
    disk_read_mbps = models.PositiveIntegerField(_("disk read (MB/s)"), null=True, blank=True)
    disk_write_mbps = models.PositiveIntegerField(_("disk write (MB/s)"), null=True, blank=True)
    disk_measured_at = models.DateTimeField(_("disk measured at"), null=True, blank=True)
    disk_samples = models.PositiveIntegerField(_("disk measurements"), default=0)
    net_up_mbps = models.PositiveIntegerField(_("upload (Mbit/s)"), null=True, blank=True)
    net_down_mbps = models.PositiveIntegerField(_("download (Mbit/s)"), null=True, blank=True)
    net_measured_at = models.DateTimeField(_("network measured at"), null=True, blank=True)
    net_samples = models.PositiveIntegerField(_("network measurements"), default=0)
    listed = models.BooleanField(_("listed"), default=True)
    version = models.PositiveIntegerField(_("version"), default=1)
    price_micros = models.BigIntegerField(_("price per GPU-hour"), help_text=_("Micro-units per GPU-hour."))
    reserved_discounts = models.JSONField(
        _("discounts of reserved terms"),
        default=dict,
        blank=True,
        help_text='Basis points off by term, such as {"month": 2000}; a term not named is not sold.',
    )
    tiers = models.JSONField(
        _("tiers by hours of use"),
        default=default_tiers,
        blank=True,
        help_text="[[hours of continuous use, basis points off], …], rising.",
    )
    spot_floor_micros = models.BigIntegerField(
        _("spot floor price (micro-units)"), null=True, blank=True, help_text="Per GPU and hour; empty: no spot market."
    )
    spot_now_micros = models.BigIntegerField(
        _("current spot price (micro-units)"),
        null=True,
        blank=True,
        help_text="What spot rents pay per GPU and hour now; empty: the floor, nobody has bid more.",
    )
    hold_bps = models.PositiveIntegerField(
        _("discount for kept GPUs (basis points)"),
        default=DEFAULT_HOLD_BPS,
        help_text="Of the hourly price, for GPUs that a stopped instance keeps; basis points.",
    )
    disk_micros_gb_day = models.BigIntegerField(
        _("data disk, per GB and day (micro-units)"), default=0, help_text="Micro-units per GB above the free quota and day."
    )
    gpu_total = models.PositiveIntegerField(_("total GPUs"), default=0)
    gpu_free = models.PositiveIntegerField(_("free GPUs"), default=0)
    gpu_spot = models.PositiveIntegerField(
        _("GPUs leased to spot instances"), default=0, help_text="Leased to spot rents that would yield to an order now."
    )
    vram_mb = models.PositiveIntegerField(
        _("VRAM (MB)"), default=0, help_text="Nominal: 24 GB is 24576, whatever the driver keeps back."
    )
    cpu_millis_per_gpu = models.PositiveIntegerField(_("CPU per GPU (thousandths of a core)"), default=0)
    ram_mb_per_gpu = models.PositiveIntegerField(_("memory per GPU (MB)"), default=0)
    created_at = models.DateTimeField(_("created at"), default=clock.now)
    # The last transaction that wrote the row, set by a trigger: the in-memory copy of the table reads by it.
    changed_xid = models.BigIntegerField(_("last transaction"), default=0, editable=False)

    class Meta:
        verbose_name = _("offer")
        verbose_name_plural = _("offers")
        constraints: ClassVar = [
            Printable(column="host_name", name="offer_host_name_is_printable"),
            Printable(column="region", name="offer_region_is_printable"),
            models.CheckConstraint(condition=Q(price_micros__gte=0), name="offer_price_not_negative"),
            models.CheckConstraint(condition=Q(gpu_free__lte=F("gpu_total")), name="offer_free_at_most_total"),
            models.CheckConstraint(
                condition=Q(spot_floor_micros__isnull=True) | Q(spot_floor_micros__gte=0),
                name="offer_spot_floor_not_negative",
            ),
            models.CheckConstraint(condition=Q(disk_micros_gb_day__gte=0), name="offer_disk_price_not_negative"),
            models.CheckConstraint(condition=Q(hold_bps__lte=10_000), name="offer_hold_at_most_the_price"),
            models.UniqueConstraint(fields=["host", "gpu_model"], name="one_offer_per_host_and_model"),
        ]
        indexes: ClassVar = [models.Index(fields=["changed_xid"], name="offer_by_change")]

    def __str__(self) -> str:
        return f"{self.gpu_model} · {self.host_id}"


class OfferPrice(models.Model):
    """Price of an offer from a moment on: the public price history."""

    id = models.BigAutoField(primary_key=True)
    offer = models.ForeignKey(Offer, on_delete=models.CASCADE, related_name="price_history")
    at = models.DateTimeField(default=clock.now)
    price_micros = models.BigIntegerField()
    spot_floor_micros = models.BigIntegerField(null=True, blank=True)

    class Meta:
        ordering = ("at", "id")
        indexes: ClassVar = [models.Index(fields=["offer", "at"], name="price_of_offer")]

    def __str__(self) -> str:
        return f"{self.offer_id} from {self.at:%Y-%m-%d %H:%M}"


class SpotPrice(models.Model):
    """Spot price of an offer from a moment on, and what determined it; public and never changed."""

    id = models.BigAutoField(primary_key=True)
    offer = models.ForeignKey(Offer, on_delete=models.CASCADE, related_name="spot_prices")
    at = models.DateTimeField(default=clock.now)
    price_micros = models.BigIntegerField(help_text="Per GPU and hour.")
    supply = models.PositiveIntegerField(help_text="GPUs that spot rents could have.")
    demand = models.PositiveIntegerField(help_text="GPUs that bids at the floor or above asked for.")

    class Meta:
        ordering = ("at", "id")
        indexes: ClassVar = [models.Index(fields=["offer", "at"], name="spot_price_of_offer")]

    def __str__(self) -> str:
        return f"{self.offer_id} spot from {self.at:%Y-%m-%d %H:%M}"


class SavedSearch(models.Model):
    """Search line saved by its user."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    user = models.ForeignKey("accounts.User", on_delete=models.CASCADE, related_name="saved_searches")
    name = PrintableField(_("name"), max_length=80)
    line = models.CharField(_("search"), max_length=500, help_text="In the grammar of the search box.")
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ("name", "id")
        constraints: ClassVar = [
            Printable(column="name", name="saved_search_name_is_printable"),
            models.UniqueConstraint(fields=["user", "name"], name="one_saved_search_per_name"),
        ]

    def __str__(self) -> str:
        return self.name
