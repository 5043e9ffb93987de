"""States and transitions of instances; `docs/lifecycles.md` is printed from these tables."""

from collections.abc import Mapping
from typing import Final

from django.db import models
from django.utils.translation import gettext_lazy as _

from common.transitions import Machine


class InstanceState(models.TextChoices):
    REQUESTED = "requested", _("queued")
    WAITING = "waiting", _("waiting for GPUs")
    PROVISIONING = "provisioning", _("creating")
    RUNNING = "running", _("running")
    STOPPING = "stopping", _("stopping")
    STOPPED = "stopped", _("stopped")
    STARTING = "starting", _("starting")
    RESTARTING = "restarting", _("restarting")
    # Being copied or filled by a clone or migration, or waiting for volumes to arrive from other hosts.
    COPYING = "copying", _("copying")
    FAILED = "failed", _("failed")
    RELEASING = "releasing", _("releasing")
    GONE = "gone", _("released")


ENDING: Final = (InstanceState.RELEASING, InstanceState.GONE)  # no state after these ever leads back


class Desired(models.TextChoices):
    """The state that the renter wants."""

    RUNNING = "running", _("running")
    STOPPED = "stopped", _("stopped")
    GONE = "gone", _("released")


class FaultOf(models.TextChoices):
    RENTER = "renter", _("renter")
    HOST = "host", _("host")
    PLATFORM = "platform", _("platform")
    NOBODY = "nobody", _("no one")  # both the renter and the host can cause it


class ReportVerdict(models.TextChoices):
    OPEN = "open", _("open")
    UPHELD = "upheld", _("upheld")
    REJECTED = "rejected", _("rejected")


class WatchAction(models.TextChoices):
    TELL = "tell", _("notify me")
    RENT = "rent", _("rent automatically")


class WatchState(models.TextChoices):
    WAITING = "waiting", _("waiting")
    TOLD = "told", _("notified")
    RENTED = "rented", _("rented for you")
    FAILED = "failed", _("failed")  # an order could not be made; the detail says why
    EXPIRED = "expired", _("expired")
    CANCELLED = "cancelled", _("cancelled")


S = InstanceState

INSTANCE_MACHINE = Machine(
    name="instance",
    initial=S.REQUESTED,
    final=frozenset({S.GONE}),
    table={
        S.REQUESTED: frozenset({S.WAITING, S.PROVISIONING, S.RUNNING, S.STOPPING, S.FAILED, S.RELEASING}),
        # No GPUs are leased: a spot bid that does not win, or an order for which spot rents are being stopped.
        S.WAITING: frozenset({S.REQUESTED, S.STARTING, S.STOPPED, S.RELEASING}),
        S.PROVISIONING: frozenset({S.RUNNING, S.STOPPING, S.FAILED, S.RELEASING}),
        S.RUNNING: frozenset({S.STOPPING, S.RESTARTING, S.FAILED, S.RELEASING}),
        S.STOPPING: frozenset({S.STOPPED, S.RELEASING}),
        S.STOPPED: frozenset({S.STARTING, S.WAITING, S.COPYING, S.RELEASING}),
        S.STARTING: frozenset({S.RUNNING, S.STOPPING, S.FAILED, S.RELEASING}),
        S.RESTARTING: frozenset({S.RUNNING, S.STOPPING, S.FAILED, S.RELEASING}),
        # A failed instance keeps its data until it is released, and can start again once its GPUs are released. One
        # that failed on the host that it was migrated to becomes stopped again on its former host.
        S.FAILED: frozenset({S.STARTING, S.WAITING, S.COPYING, S.STOPPED, S.RELEASING}),
        S.COPYING: frozenset({S.REQUESTED, S.STARTING, S.STOPPED, S.RELEASING}),
        S.RELEASING: frozenset({S.GONE}),
        S.GONE: frozenset(),
    },
)

# The renter's actions and the states in which each is possible. A failed instance can start once its GPUs are
# released; a stopped one is stopped again to release GPUs that it keeps for a fee; only reserved ones are extended;
# only data with a deletion date is kept for longer; a lock refuses the actions in PROTECTED.
ACTIONS: Final[Mapping[str, frozenset[str]]] = {
    "start": frozenset({S.STOPPED, S.FAILED}),
    "stop": frozenset({S.WAITING, S.REQUESTED, S.PROVISIONING, S.STARTING, S.RUNNING, S.RESTARTING, S.STOPPED}),
    "restart": frozenset({S.RUNNING}),
    "start_cpu": frozenset({S.STOPPED, S.FAILED}),
    "reimage": frozenset({S.RUNNING, S.STOPPED, S.FAILED}),
    "resize": frozenset({S.RUNNING, S.STOPPED, S.FAILED}),
    "convert": frozenset({S.RUNNING, S.STOPPED}),
    "extend": frozenset({S.RUNNING, S.STOPPED}),
    "keep": frozenset({S.STOPPED, S.FAILED}),
    "clone": frozenset({S.STOPPED}),
    "migrate": frozenset({S.STOPPED}),
    "cancel-move": frozenset({S.COPYING}),
    "save-image": frozenset({S.RUNNING, S.STOPPED}),
    "release": frozenset(S) - {S.COPYING, S.RELEASING, S.GONE},
}


# Actions that a lock refuses.
PROTECTED: Final = frozenset({"release", "reimage"})


class TermState(models.TextChoices):
    NEXT = "next", _("upcoming")  # agreed on: it begins with the first run, or when the present term ends
    ACTIVE = "active", _("active")
    ENDED = "ended", _("ended")
    EXITED = "exited", _("ended early")


class BidState(models.TextChoices):
    WAITING = "waiting", _("waiting")
    HOLDING = "holding", _("holding GPUs")
    NOTICE = "notice", _("interruption notice")  # its GPUs go to others at `yields_at`
    YIELDING = "yielding", _("interrupting")  # told to stop, but its GPUs are not free yet
    ENDED = "ended", _("ended")


TERM_MACHINE = Machine(
    name="term",
    initial=TermState.NEXT,
    final=frozenset({TermState.ENDED, TermState.EXITED}),
    table={
        TermState.NEXT: frozenset({TermState.ACTIVE, TermState.EXITED}),
        TermState.ACTIVE: frozenset({TermState.ENDED, TermState.EXITED}),
        TermState.ENDED: frozenset(),
        TermState.EXITED: frozenset(),
    },
)

B = BidState

BID_MACHINE = Machine(
    name="bid",
    initial=B.WAITING,
    table={
        B.WAITING: frozenset({B.HOLDING, B.ENDED}),
        B.HOLDING: frozenset({B.NOTICE, B.WAITING, B.ENDED}),
        # A notice is withdrawn when GPUs were found elsewhere or the bid was raised in time.
        B.NOTICE: frozenset({B.HOLDING, B.YIELDING, B.WAITING, B.ENDED}),
        B.YIELDING: frozenset({B.WAITING, B.ENDED}),
        B.ENDED: frozenset({B.WAITING}),  # the instance was started again
    },
)

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


class MoveKind(models.TextChoices):
    CLONE = "clone", _("clone")
    MIGRATE = "migrate", _("move")


class MoveState(models.TextChoices):
    COPYING = "copying", _("copying")
    STARTING = "starting", _("starting on the new host")  # the source is kept until the target has run
    CLEARING = "clearing", _("removing the old copy")
    UNDOING = "undoing", _("reverting")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")


M = MoveState

MOVE_MACHINE = Machine(
    name="move",
    initial=M.COPYING,
    final=frozenset({M.DONE, M.FAILED, M.CANCELLED}),
    table={
        M.COPYING: frozenset({M.STARTING, M.DONE, M.UNDOING, M.FAILED, M.CANCELLED}),
        M.STARTING: frozenset({M.CLEARING, M.UNDOING}),
        M.CLEARING: frozenset({M.DONE}),
        M.UNDOING: frozenset({M.FAILED, M.CANCELLED}),
        M.DONE: frozenset(),
        M.FAILED: frozenset(),
        M.CANCELLED: frozenset(),
    },
)
