"""Accounts that staff have switched off: what they rent is stopped, what they offer takes no new rents. Data is kept."""

from instances.constants import SWEEP_BATCH
from instances.lifecycle.stop import halt_instance
from instances.models import Instance
from instances.states import Desired, InstanceState
from marketplace.hosts.offers import drain_suspended


def stop_suspended() -> int:
    """Stop what runs or waits for accounts that are switched off; how many. It is settled, and freed on proof, as ever.

    An order that was under way when the account was switched off is found here too. Hosts of such accounts are drained: who
    rents there already has done nothing wrong and goes on.
    """
    drain_suspended()
    going = Instance.objects.filter(desired=Desired.RUNNING, renter__is_active=False)
    ids = going.exclude(state=InstanceState.COPYING).order_by("pk").values_list("pk", flat=True)[:SWEEP_BATCH]
    return sum(halt_instance(instance_id=pk, kind="account_switched_off", detail="") for pk in list(ids))
