"""What events of hosts say beside their kind. `common.messages` says how messages are kept and worded."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from common.messages.message import Message, Micros, Second, Share, Words
from marketplace.states import HostState, MaintenanceCategory


class GpuCount(Message, code="gpu_count", text=ngettext_lazy("%(count)s GPU", "%(count)s GPUs", "count")):
    count: int


class WasBefore(Message, code="was_before", text=_("Previous state: %(state)s")):
    state: HostState


class ReportsAgain(Message, code="reports_again", text=_("The host reports again.")):
    pass


class NoReportSince(Message, code="no_report_since", text=_("No report since %(at)s.")):
    at: Second


class ByStaff(Message, code="by_staff", text=_("By Berth.")):
    pass


class KeyRevoked(Message, code="key_revoked", text=_("The agent's key was revoked.")):
    pass


class Doubt(models.TextChoices):
    """Why a host is not verified."""

    UNTESTED = "untested", _("The host has not been tested.")
    FAILED = "failed", _("The self-test failed.")
    CHANGED = "changed", _("The GPUs or the driver changed since the self-test.")
    OLD = "old", _("The last self-test is too old.")


class NotVerified(Message, code="not_verified", text="%(doubt)s"):
    doubt: Doubt


class TestPassed(Message, code="test_passed", text=_("The self-test passed.")):
    pass


class SimulatedTestPassed(Message, code="simulated_test_passed", text=_("The simulated self-test passed.")):
    pass


class RefusalWithdrawn(Message, code="refusal_withdrawn", text=_("The refusal was withdrawn.")):
    pass


class DriverChanged(
    Message,
    code="driver_changed",
    text=_("The driver changed from %(before)s to %(after)s: new rentals are paused until a self-test passes."),
):
    before: str
    after: str


class MaintenancePeriod(Message, code="maintenance_window", text=_("%(category)s: %(begins)s – %(ends)s")):
    category: MaintenanceCategory
    begins: datetime
    ends: datetime


class NoEnd(Message, code="no_end", text=_("No end date")):
    pass


class ListedUntil(Message, code="listed_until", text=_("Until %(at)s")):
    at: datetime


class OwnerDisabled(Message, code="owner_disabled", text=_("The owner's account is disabled.")):
    pass


class ChecksPassed(
    Message,
    code="checks_passed",
    text=ngettext_lazy("Passed: %(count)s check", "Passed: %(count)s checks", "count"),
):
    count: int


class ChecksFailed(Message, code="checks_failed", text=_("Failed: %(checks)s")):
    checks: str


class NoTestAnswer(
    Message,
    code="no_test_answer",
    text=ngettext_lazy("No answer within %(minutes)s minute", "No answer within %(minutes)s minutes", "minutes"),
):
    minutes: int


class PricesChanged(Message, code="prices_changed", text="%(gpu)s: %(changes)s"):
    gpu: str
    changes: tuple[Message, ...]


class PriceChanged(Message, code="price_changed", text="%(words)s %(before)s → %(after)s"):
    """One price of an offer; `field` is its name in the API."""

    field: str
    before: Micros
    after: Micros

    def named(self) -> Mapping[str, Words]:
        return {"words": _PRICES.get(self.field, self.field)}


class ShareChanged(Message, code="share_changed", text="%(words)s %(before)s → %(after)s"):
    """A part of the price; `field` is its name in the API."""

    field: str
    before: Share
    after: Share

    def named(self) -> Mapping[str, Words]:
        return {"words": _PRICES.get(self.field, self.field)}


class FloorSet(Message, code="floor_set", text=_("floor price none → %(after)s")):
    after: Micros


class FloorRemoved(Message, code="floor_removed", text=_("floor price %(before)s → none")):
    before: Micros


class DiscountSet(Message, code="discount_set", text=_("reserved for %(words)s: not offered → %(after)s off")):
    term: str
    after: Share

    def named(self) -> Mapping[str, Words]:
        return {"words": _LENGTHS.get(self.term, self.term)}


class DiscountChanged(Message, code="discount_changed", text=_("reserved for %(words)s: %(before)s → %(after)s off")):
    term: str
    before: Share
    after: Share

    def named(self) -> Mapping[str, Words]:
        return {"words": _LENGTHS.get(self.term, self.term)}


class DiscountRemoved(Message, code="discount_removed", text=_("reserved for %(words)s: %(before)s off → not offered")):
    term: str
    before: Share

    def named(self) -> Mapping[str, Words]:
        return {"words": _LENGTHS.get(self.term, self.term)}


class Tier(Message, code="tier", text=_("%(off)s off after %(hours)s h")):
    hours: int
    off: Share


class NoTiers(Message, code="no_tiers", text=_("none")):
    pass


class TiersChanged(Message, code="tiers_changed", text=_("tiers: %(before)s → %(after)s")):
    before: tuple[Message, ...]
    after: tuple[Message, ...]


class TermsChanged(Message, code="terms_changed", text="%(words)s %(before)s → %(after)s"):
    """What else an offer asks, as rows of before have it: as a program writes a list."""

    field: str
    before: str
    after: str

    def named(self) -> Mapping[str, Words]:
        return {"words": _PRICES.get(self.field, self.field)}


_PRICES: Final[Mapping[str, Words]] = {
    "price_micros": _("price per GPU-hour"),
    "reserved_discounts": _("reserved terms"),
    "tiers": _("tiers"),
    "spot_floor_micros": _("floor price"),
    "disk_micros_gb_day": _("storage price per GB-day"),
    "hold_bps": _("fee for kept GPUs"),
}
_LENGTHS: Final[Mapping[str, Words]] = {
    "day": _("1 day"),
    "week": _("1 week"),
    "month": _("1 month"),
    "year": _("1 year"),
    "year3": _("3 years"),
}
