"""Hint to the wait list that GPUs have just become free."""

from common.jobs import enqueue
from instances.models import Watch
from instances.states import WatchState


def hint_waiting() -> None:
    """Enqueue a pass of the wait list after this transaction; the sweep would run within seconds anyway."""
    if has_waiting_entries():
        enqueue("instances.serve_watches")


def has_waiting_entries() -> bool:
    return Watch.objects.filter(state=WatchState.WAITING).exists()
