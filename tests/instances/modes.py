"""What the tests of the billing modes share: an offer that sells all of them, orders, and time in which hosts report."""

from datetime import timedelta
from typing import Any
from unittest.mock import patch

from accounts.models import User
from billing.metering.settle import extend_holds, settle_meters
from billing.models import Wallet
from common import clock
from instances.billing_mode.change_quotes import quote_change
from instances.billing_mode.convert import convert_instance
from instances.enforcement.sweeps import compare_leases, end_terms, purge_expired, stop_exhausted
from instances.metering.findings import metering_findings
from instances.models import Instance, Quote
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from instances.volumes.unpaid_disks import update_disk_meters
from marketplace.hosts.offers import ListingChange, check_offers, set_prices
from tests.billing.money import assert_sound
from tests.instances.fake_host import FakeHost, again
from tests.instances.fixtures import Clock

# 3.60 an hour; a day at 5 % off (3.42), a week at 10 % (3.24), a month at 20 % (2.88); tiers from 2 h and 4 h on.
PRICES: dict[str, Any] = {
    "reserved_discounts": {"day": 500, "week": 1_000, "month": 2_000, "year": 5_000},
    "tiers": [(2, 1_000), (4, 2_500)],
    "disk_micros_gb_day": 4_800,
    "hold_bps": 5_000,
}


def sell(host: FakeHost, **changes: Any) -> None:
    set_prices(actor_id=host.owner.pk, change=ListingChange(host.offer.pk, **{**PRICES, **changes}))
    host.offer.refresh_from_db()


def quoted(renter: User, host: FakeHost, mode: str, **wishes: Any) -> Quote:
    return create_quote(renter=renter, offer_id=host.offer.pk, image="berth-base", billing_mode=mode, **wishes)


def rented(renter: User, host: FakeHost, mode: str, *, auto_renew: bool = False, **wishes: Any) -> Instance:
    quote = quoted(renter, host, mode, **wishes)
    return rent_instance(renter=renter, quote_id=quote.pk, name="box", auto_renew=auto_renew)


def running(renter: User, host: FakeHost, mode: str, **wishes: Any) -> Instance:
    instance = rented(renter, host, mode, **wishes)
    host.settle()
    return again(instance)


def converted(renter: User, instance: Instance, mode: str, **wishes: Any) -> Instance:
    quote = quote_change(renter=renter, instance_id=instance.pk, billing_mode=mode, **wishes)
    convert_instance(renter=renter, instance_id=instance.pk, quote_id=quote.pk)
    return again(instance)


def beat() -> None:
    now = clock.now()
    extend_holds(now=now)
    stop_exhausted(now=now)
    end_terms(now=now)
    update_disk_meters(now=now)
    settle_meters(now=now)
    purge_expired(now=now)


def pass_time(host: FakeHost, hours: Clock, seconds: int, *, step: int = 1800) -> None:
    """The host reports all the while, and the jobs run. Few reports: the bridge between two proofs is long meanwhile."""
    left = seconds
    bridge = timedelta(seconds=step)
    with (
        patch("billing.metering.meters.PROOF_BRIDGE", bridge),
        patch("storage.operations.host_presence.PROOF_BRIDGE", bridge),
    ):
        while left > 0:
            span = min(step, left)
            hours.advance(seconds=span)
            host.sync()
            beat()
            left -= span


def balance(user: User, kind: str = "renter") -> int:
    return Wallet.objects.get(owner=user, kind=kind).balance_micros


def market(kind: str) -> int:
    return Wallet.objects.get(owner=None, kind=kind).balance_micros


def held(user: User) -> int:
    return Wallet.objects.get(owner=user, kind="renter").held_micros


def assert_all_well() -> None:
    assert check_offers(repair=False) == []
    assert compare_leases() == 0
    assert metering_findings() == []
    assert_sound()
