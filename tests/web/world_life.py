"""Instances that do things by themselves, wait for their GPUs or keep their data for a fee, for pictures."""

from datetime import time, timedelta

import time_machine

from accounts.models import User
from billing.ledger.wallets import grant_credit
from common import clock
from common.ids import public_id
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from instances.retention.data_retention import keep_data
from instances.schedules.recurrence import Entry
from instances.schedules.settings import IdleRule, SettingsChange, Week, change_settings
from marketplace.models import Host, Offer
from tests.web.world import UNIT, World, keep_alive, person, report

WEEK = Week([Entry("start", (0, 1, 2, 3, 4), time(9)), Entry("stop", (0, 1, 2, 3, 4, 5, 6), time(20, 30))], "Asia/Shanghai")


def life_pages(world: World) -> dict[str, tuple[str, str]]:
    """Name → (who, path)."""
    now, host = clock.now(), world.hosts["attic"]
    grant_credit(owner_id=world.alice.pk, amount_micros=300 * UNIT, actor="staff", key="life", memo="For schedules")
    other = person("neighbour@example.com", "Neighbour")
    grant_credit(owner_id=other.pk, amount_micros=300 * UNIT, actor="staff", key="life-other", memo="For GPUs")
    Offer.objects.filter(host=host).update(disk_micros_gb_day=4_800)
    with time_machine.travel(now - timedelta(days=25), tick=False):
        keep_alive(world.hosts)
        kept, waits = _stopped(world, host, "thesis-runs"), _stopped(world, host, "captioning")
    with time_machine.travel(now - timedelta(hours=3), tick=False):
        keep_alive(world.hosts)
        keep_data(renter=world.alice, instance_id=kept.pk, days=30)
        for _ in range(host.offers.get().gpu_free):
            _rented(other, host, "busy")
    keep_alive(world.hosts)
    start_instance(renter=world.alice, instance_id=waits.pk, wait=True)
    own = world.instances["running"]
    changes = {"locked": True, "week": WEEK, "idle": IdleRule(5, 60), "stop_at": now + timedelta(hours=30)}
    change_settings(renter=world.alice, instance_id=own.pk, wanted=SettingsChange(changes))
    ids = {name: public_id("inst", each.pk) for name, each in (("set", own), ("kept", kept), ("line", waits))}
    return {
        **{f"life-{name}": ("alice", f"/instances/{key}") for name, key in ids.items()},
        "life-list": ("alice", "/instances"),
        "life-form": ("alice", f"/instances/{ids['set']}/schedule"),
        "life-keep": ("alice", f"/instances/{ids['kept']}/keep"),
    }


def _rented(renter: User, host: Host, name: str) -> Instance:
    quote = create_quote(renter=renter, offer_id=host.offers.get().pk, image="berth-base")
    instance = rent_instance(renter=renter, quote_id=quote.pk, name=name)
    report(instance, "running")
    return instance


def _stopped(world: World, host: Host, name: str) -> Instance:
    instance = _rented(world.alice, host, name)
    stop_instance(renter=world.alice, instance_id=instance.pk)
    report(instance, "stopped")
    return instance
