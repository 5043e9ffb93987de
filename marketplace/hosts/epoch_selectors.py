"""Reads of the market's present epoch."""

from django.db.models import Max

from marketplace.models import Epoch, Host
from marketplace.states import HostState


def present_epoch() -> int:
    """Return the present epoch; 0 for a market that was never restored from a backup."""
    return Epoch.objects.aggregate(newest=Max("number"))["newest"] or 0


def hosts_to_agree() -> list[Host]:
    """Return hosts that have not reported what they hold in the present epoch."""
    return list(Host.objects.filter(awaits_epoch=True).exclude(state=HostState.RETIRED).order_by("name", "pk"))
