"""Operations that copy a disk to or from object storage, each by rclone in a container of its own.

An order that is started again continues with the container that it finds: a running one is followed, an ended one
is read. What was copied is not copied again, so that a lost container costs only another comparison of the files.
"""

import contextlib
import logging
import re
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from agents.daemon.disks.loop_disks import DiskMissing, Disks, LoopDisks
from agents.daemon.disks.operation_runner import Cleanup, Operation, Operator
from agents.daemon.disks.volume_store import LoopVolumes, Volumes, checked_id
from agents.daemon.docker_engine.runtime import DockerRuntime
from agents.daemon.engine.interface import (
    EngineRefused,
    EngineSilent,
    ImageRequest,
    InsufficientDiskSpace,
    PullStalled,
    Runtime,
)
from agents.daemon.lib.errors import Failed, Superseded
from agents.daemon.operations.rclone_container import (
    DISK_AT,
    DockerSyncContainers,
    SyncContainerOrder,
    SyncContainers,
    SyncContainerState,
)
from agents.daemon.operations.rclone_log import SyncLog, SyncStats, failure_of, read_log
from agents.daemon.reconciler.image_pulls import pull_failure
from agents.protocol.progress_messages import say

logger = logging.getLogger(__name__)

KIND: Final = "sync_objects"
LOOK_S: Final = 1.0
AT_ONCE: Final = 2
UP: Final = "up"
_SECRET_NAMES: Final = ("endpoint", "region", "key_id", "secret")
_FLAGS: Final = (
    *("--use-json-log", "--stats", "1s", "--stats-log-level", "NOTICE"),
    *("--links", "--metadata", "--retries", "3", "--transfers", "4", "--checkers", "8"),
    *("--contimeout", "20s", "--timeout", "2m", "--exclude", "/lost+found/**"),
)
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")

Checkpoint = Callable[[str], None]


@dataclass(frozen=True)
class HostDisks:
    """Disks of one host."""

    disks: LoopDisks
    volumes: LoopVolumes

    def mounted(self, args: Mapping[str, str]) -> str:
        """Return the mount point of a `volume`, or of the data disk of an `instance`.

        Raises:
            Failed: The disk is not on this host; an empty one is never made in its place.
        """
        store = self.volumes.volumes if "volume" in args else self.disks
        key = checked_id(args.get("volume") or args["instance"])
        try:
            return str(store.mount(key))
        except DiskMissing as error:
            raise Failed("disk_missing", "The disk is not on this host.") from error


class SyncOrders:
    """Carries out syncs, two at a time.

    They take hours, so other operations of the host do not wait for them.
    """

    def __init__(
        self,
        runtime: Runtime,
        containers: SyncContainers,
        places: HostDisks,
        *,
        checkpoint: Checkpoint,
        local_images: bool = False,
    ) -> None:
        self._runtime = runtime
        self._containers = containers
        self._places = places
        self._checkpoint = checkpoint
        self._local_images = local_images
        self._slots = threading.BoundedSemaphore(AT_ONCE)
        self._own: set[str] = set()  # started or continued by this process

    def operators(self) -> Mapping[str, Operator]:
        return {KIND: self.sync}

    def sync(self, work: Operation) -> Mapping[str, str]:
        with self._slots:
            try:
                return self._run(work)
            except Superseded:
                # An agent that ends leaves the container running: the next one continues with it.
                if work.unwanted:
                    self._containers.remove(checked_id(work.order.id))
                raise
            except (Failed, EngineRefused):
                self._containers.remove(checked_id(work.order.id))
                raise

    def tidy(self, named: Collection[str]) -> None:
        """Remove containers of orders that are no longer named, which a killed agent has left."""
        try:
            for key in set(self._containers.present()) - set(named) - self._own:
                self._containers.remove(key)
        except (EngineRefused, EngineSilent) as error:
            logger.warning("containers of former syncs may be left: %s", error)

    def _run(self, work: Operation) -> Mapping[str, str]:
        key = checked_id(work.order.id)
        self._own.add(key)
        work.check()
        state = self._containers.state(key)
        if state is None or not (state.running or state.has_result):
            self._containers.remove(key)
            self._start_container(work, key)
        state, log = self._wait_for_end(work, key)
        self._checkpoint("sync-over")
        outcome = _outcome_of(state, log, work.order.args)
        self._containers.remove(key)
        self._checkpoint("sync-removed")
        return outcome

    def _start_container(self, work: Operation, key: str) -> None:
        args = work.order.args
        words, environment = rclone_arguments(args), rclone_environment(args)
        disk = self._places.mounted(args)
        self._pull_image(work, args["image"])
        self._containers.make(SyncContainerOrder(key, args["image"], disk, read_only=args["direction"] == UP, words=words))
        self._checkpoint("sync-made")
        self._containers.connect(key)
        self._checkpoint("sync-connected")
        work.progress(said=say("comparing_files"))
        self._containers.start(key, environment)
        self._checkpoint("sync-started")

    def _pull_image(self, work: Operation, image: str) -> None:
        if self._runtime.has_image(image):
            return
        if self._local_images:
            raise Failed("image_missing", f"The image {image} is not on this host.")
        work.progress(said=say("loading_copy_program"))
        try:
            self._runtime.pull_image(ImageRequest(image, lambda *_: work.check()), work.cancelled)
        except (PullStalled, InsufficientDiskSpace) as error:
            raise Failed("image_missing", str(error)) from error
        except EngineRefused as error:
            raise Failed(*pull_failure(image, str(error))) from error
        work.check()

    def _wait_for_end(self, work: Operation, key: str) -> tuple[SyncContainerState, SyncLog]:
        while True:
            with contextlib.suppress(EngineSilent):  # retried: the container goes on copying without us
                state = self._containers.state(key)
                if state is None:
                    raise Failed("sync_failed", "Somebody took the copying container away.")
                log = read_log(self._containers.log(key))
                if not state.running:
                    return state, log
                if log.stats is not None:
                    _report_progress(work, log.stats)
            if work.cancelled.wait(LOOK_S):
                raise Superseded


def rclone_arguments(args: Mapping[str, str]) -> tuple[str, ...]:
    """Return rclone's arguments.

    Raises:
        Failed: An argument is malformed; our control plane would never send it.
    """
    bucket, _, rest = args["remote"].partition("/")
    if not _BUCKET.fullmatch(bucket):
        raise Failed("sync_failed", "The bucket's name is not one.")
    for text in (rest, args.get("path", "")):
        if _CONTROL.search(text) or ".." in text.split("/") or text.startswith("/"):
            raise Failed("sync_failed", "A folder's name is not one.")
    disk = "/".join(filter(None, (DISK_AT, args.get("path", ""))))
    remote = f"remote:{bucket}/{rest}".rstrip("/")
    ends = (disk, remote) if args["direction"] == UP else (remote, disk)
    return ("sync" if args.get("delete") else "copy", *ends, *_FLAGS)


def rclone_environment(args: Mapping[str, str]) -> dict[str, str]:
    """Return rclone's environment variables.

    Raises:
        Failed: The login contains control characters.
    """
    if any(_CONTROL.search(args.get(name, "")) for name in _SECRET_NAMES):
        raise Failed("sync_failed", "The login holds what no login holds.")
    settings = {
        "TYPE": "s3",
        "PROVIDER": "Other",
        "ENDPOINT": args["endpoint"],
        "REGION": args["region"],
        "ACCESS_KEY_ID": args["key_id"],
        "SECRET_ACCESS_KEY": args["secret"],
        "FORCE_PATH_STYLE": "false" if args.get("virtual_host") else "true",
        "NO_CHECK_BUCKET": "true",
    }
    return {f"RCLONE_CONFIG_REMOTE_{name}": value for name, value in settings.items()}


def _outcome_of(state: SyncContainerState, log: SyncLog, args: Mapping[str, str]) -> dict[str, str]:
    """Return the outcome of a sync that has ended.

    Raises:
        Failed: The sync failed.
    """
    if state.out_of_memory:
        raise Failed("sync_failed", "There are too many files in one folder to be compared with the memory that a sync has.")
    if state.code == 0:
        return (log.stats or SyncStats()).outcome
    raise Failed(*failure_of(state.code or 0, log.faults, (args["secret"], args["key_id"])))


def _report_progress(work: Operation, stats: SyncStats) -> None:
    words = say("copying") if stats.total_files else say("comparing_files")
    work.progress(stats.done_bytes, stats.total_bytes, words, files=(stats.copied_files, stats.total_files))


def sync_operators(
    runtime: Runtime, disks: Disks, volumes: Volumes, *, checkpoint: Checkpoint, local_images: bool
) -> tuple[Mapping[str, Operator], Cleanup | None]:
    """Return this host's operators, and a function that removes what earlier ones left."""
    if not (isinstance(runtime, DockerRuntime) and isinstance(disks, LoopDisks) and isinstance(volumes, LoopVolumes)):
        return simulated_syncs(), None
    places = HostDisks(disks, volumes)
    orders = SyncOrders(runtime, DockerSyncContainers(runtime), places, checkpoint=checkpoint, local_images=local_images)
    return orders.operators(), orders.tidy


def simulated_syncs() -> Mapping[str, Operator]:
    """Return operators for a simulated host: a sync ends at once and says that nothing was copied."""

    def nothing(work: Operation) -> Mapping[str, str]:
        work.progress(said=say("simulated_copy"))
        return {**SyncStats().outcome, "simulated": "true"}

    return {KIND: nothing}
