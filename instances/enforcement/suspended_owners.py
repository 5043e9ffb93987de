"""Enforcement for disabled accounts: instances are stopped, hosts are drained, data is kept."""

from instances.constants import SWEEP_BATCH
from instances.lifecycle.stop import halt_instance
from instances.models import Instance
from instances.states import Desired, InstanceState
from marketplace.hosts.offers import drain_suspended


def stop_disabled_accounts() -> int:
    """Stop what runs or waits for disabled accounts, and return how many instances.

    They are settled and their GPUs freed on proof, as always. An order that was in progress when the account was
    disabled is found here, too. Renters on the hosts of such accounts have done nothing wrong and go on.
    """
    drain_suspended()
    going = Instance.objects.filter(desired=Desired.RUNNING, renter__is_active=False)
    ids = going.exclude(state=InstanceState.COPYING).order_by("pk").values_list("pk", flat=True)[:SWEEP_BATCH]
    return sum(halt_instance(instance_id=pk, kind="account_switched_off") for pk in list(ids))
