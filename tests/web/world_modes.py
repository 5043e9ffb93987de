"""Pictures of the billing modes: rents of every kind, running and stopped, and the pages on which they are changed."""

from datetime import datetime, timedelta
from typing import Any

import time_machine

from billing.ledger.wallets import grant_credit
from common import clock
from common.ids import public_id
from instances.billing_mode.convert import extend_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from tests.web.world import UNIT, World, report, run_for

_BEGAN = timedelta(hours=3)


def mode_pages(world: World) -> dict[str, tuple[str, str]]:
    """Name → (who, path)."""
    now = clock.now()
    grant_credit(
        owner_id=world.alice.pk,
        amount_micros=2_000 * UNIT,
        actor="staff",
        key="modes",
        memo="For long rents",
        confirmed_by="second",
    )
    tiered = _run(world, "sh-gpu-12", "sweep-lr", now, billing_mode="tiered")
    prepaid = _run(world, "hpc-h2", "pretrain-13b", now, billing_mode="reserved", term="week", payment="upfront")
    monthly = _run(world, "hpc-a1", "serving", now, billing_mode="reserved", term="month", payment="none", data_disk_gb=200)
    kept = _run(world, "lab-03", "notebook", now, billing_mode="hourly")
    with_disk = _run(world, "lab-03", "archive", now, billing_mode="hourly", data_disk_gb=500)
    extend_instance(renter=world.alice, instance_id=monthly.pk, auto_renew=True)
    for instance, hold in ((monthly, False), (kept, True), (with_disk, False)):
        stop_instance(renter=world.alice, instance_id=instance.pk, hold=hold)
        report(instance, "stopped")
    ids = {
        name: public_id("inst", instance.pk)
        for name, instance in (
            ("tiered", tiered),
            ("reserved", prepaid),
            ("reserved-stopped", monthly),
            ("kept", kept),
            ("disk", with_disk),
        )
    }
    offer = public_id("offr", world.offer_of("hpc-h2").pk)
    return {
        **{f"mode-{name}": ("alice", f"/instances/{key}") for name, key in ids.items()},
        "change-hourly": ("alice", f"/instances/{public_id('inst', world.instances['running'].pk)}/change"),
        "change-tiered": ("alice", f"/instances/{ids['tiered']}/change?billing_mode=reserved"),
        "change-renew": ("alice", f"/instances/{ids['reserved']}/change?billing_mode=reserved"),
        "change-end": ("alice", f"/instances/{ids['reserved']}/change?billing_mode=hourly"),
        "change-kept": ("alice", f"/instances/{ids['kept']}/change"),
        "rent-reserved": ("alice", f"/offers/{offer}/rent?billing_mode=reserved&term=week"),
        "rent-tiered": ("alice", f"/offers/{offer}/rent?billing_mode=tiered&data_disk_gb=200"),
    }


def _run(world: World, host: str, name: str, now: datetime, **wishes: Any) -> Instance:
    """Rented some hours ago, and running since."""
    began = now - _BEGAN
    with time_machine.travel(began, tick=False):
        quote = create_quote(renter=world.alice, offer_id=world.offer_of(host).pk, image="berth-base", **wishes)
        instance = rent_instance(renter=world.alice, quote_id=quote.pk, name=name)
        report(instance, "running")
    step = timedelta(seconds=110)
    run_for(instance, since=began + step, until=now, step=step)
    return instance
