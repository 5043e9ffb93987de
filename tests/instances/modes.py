"""What the tests of the billing modes share: an offer that sells all of them, orders, and time in which hosts report."""

from datetime import timedelta
from typing import Any
from unittest.mock import patch

from accounts.models import User
from billing.models import Wallet
from instances.billing_mode.change_quotes import quote_change
from instances.billing_mode.convert import convert_instance
from instances.enforcement.sweeps import compare_leases
from instances.metering.findings import metering_findings
from instances.models import Instance, Quote
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from marketplace.hosts.offers import ListingChange, check_offers, set_prices
from tests.billing.money import assert_sound
from tests.instances.fake_host import FakeHost, reload
from tests.instances.fixtures import Clock
from tests.instances.sweeps import run_sweeps

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
    return reload(instance)


def converted(renter: User, instance: Instance, mode: str, **wishes: Any) -> Instance:
    quote = quote_change(renter=renter, instance_id=instance.pk, billing_mode=mode, **wishes)
    convert_instance(renter=renter, instance_id=instance.pk, quote_id=quote.pk)
    return reload(instance)


def pass_time(host: FakeHost, hours: Clock, seconds: int, *, step: int = 1800, first: int = 0) -> None:
    """The host reports all the while, and the jobs run. Few reports: the bridge between two proofs is long meanwhile.

    `first` are longer steps, while more than two of them are left: for terms, which need no hold to be extended.
    """
    left = seconds
    bridge = timedelta(seconds=max(step, first))
    with (
        patch("billing.metering.meters.PROOF_BRIDGE", bridge),
        patch("storage.operations.host_presence.PROOF_BRIDGE", bridge),
    ):
        while left > 0:
            span = first if first and left > 2 * first else min(step, left)
            hours.advance(seconds=span)
            host.sync()
            run_sweeps()
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
