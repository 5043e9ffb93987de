"""The life of an instance, as data. `docs/lifecycles.md` is printed from these tables."""

from collections.abc import Mapping
from typing import Final

from django.db import models
from django.utils.translation import gettext_lazy as _

from common.transitions import Machine


class InstanceState(models.TextChoices):
    REQUESTED = "requested", _("requested")
    PROVISIONING = "provisioning", _("provisioning")
    RUNNING = "running", _("running")
    STOPPING = "stopping", _("stopping")
    STOPPED = "stopped", _("stopped")
    STARTING = "starting", _("starting")
    RESTARTING = "restarting", _("restarting")
    FAILED = "failed", _("failed")
    RELEASING = "releasing", _("releasing")
    GONE = "gone", _("gone")


class Desired(models.TextChoices):
    """The renter's will."""

    RUNNING = "running", _("running")
    STOPPED = "stopped", _("stopped")
    GONE = "gone", _("gone")


class FaultOf(models.TextChoices):
    RENTER = "renter", _("renter")
    HOST = "host", _("host")
    PLATFORM = "platform", _("platform")


class WatchAction(models.TextChoices):
    TELL = "tell", _("tell me")
    RENT = "rent", _("rent for me")


class WatchState(models.TextChoices):
    WAITING = "waiting", _("waiting")
    TOLD = "told", _("told")
    RENTED = "rented", _("rented")
    FAILED = "failed", _("failed")  # an order could not be made; the detail says why
    EXPIRED = "expired", _("expired")
    CANCELLED = "cancelled", _("cancelled")


S = InstanceState

INSTANCE_MACHINE = Machine(
    name="instance",
    initial=S.REQUESTED,
    final=frozenset({S.GONE}),
    table={
        S.REQUESTED: frozenset({S.PROVISIONING, S.RUNNING, S.STOPPING, S.FAILED, S.RELEASING}),
        S.PROVISIONING: frozenset({S.RUNNING, S.STOPPING, S.FAILED, S.RELEASING}),
        S.RUNNING: frozenset({S.STOPPING, S.RESTARTING, S.FAILED, S.RELEASING}),
        S.STOPPING: frozenset({S.STOPPED, S.RELEASING}),
        S.STOPPED: frozenset({S.STARTING, S.RELEASING}),
        S.STARTING: frozenset({S.RUNNING, S.STOPPING, S.FAILED, S.RELEASING}),
        S.RESTARTING: frozenset({S.RUNNING, S.STOPPING, S.FAILED, S.RELEASING}),
        # A failed instance keeps its data until it is released; it may be started again once its GPUs are let go.
        S.FAILED: frozenset({S.STARTING, S.RELEASING}),
        S.RELEASING: frozenset({S.GONE}),
        S.GONE: frozenset(),
    },
)

# The renter's verbs and the states in which each may be asked for. A failed instance may start once its GPUs are let go.
ACTIONS: Final[Mapping[str, frozenset[str]]] = {
    "start": frozenset({S.STOPPED, S.FAILED}),
    "stop": frozenset({S.REQUESTED, S.PROVISIONING, S.STARTING, S.RUNNING, S.RESTARTING}),
    "restart": frozenset({S.RUNNING}),
    "release": frozenset(S) - {S.RELEASING, S.GONE},
}

WATCH_MACHINE = Machine(
    name="watch",
    initial=WatchState.WAITING,
    final=frozenset({WatchState.TOLD, WatchState.RENTED, WatchState.FAILED, WatchState.EXPIRED, WatchState.CANCELLED}),
    table={
        WatchState.WAITING: frozenset(
            {WatchState.TOLD, WatchState.RENTED, WatchState.FAILED, WatchState.EXPIRED, WatchState.CANCELLED}
        ),
        WatchState.TOLD: frozenset(),
        WatchState.RENTED: frozenset(),
        WatchState.FAILED: frozenset(),
        WatchState.EXPIRED: frozenset(),
        WatchState.CANCELLED: frozenset(),
    },
)
