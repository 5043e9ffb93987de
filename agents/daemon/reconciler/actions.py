"""Steps of every action, in an order that may be interrupted anywhere: the next plan continues."""

import errno
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agents.daemon.disks.loop_disks import DiskCommandFailed, DiskFull, DiskMissing, Disks
from agents.daemon.disks.volume_store import SimulatedVolumes, Volumes
from agents.daemon.engine.image_cache import ImageCache
from agents.daemon.engine.interface import STALL_SECONDS, TOTAL_SECONDS, Container, ContainerOrder, EngineRefused, Runtime
from agents.daemon.engine.ssh_interface import SimulatedSshGateway, SshGateway
from agents.daemon.gpu.claims import GpuClaims
from agents.daemon.gpu.wipe import GpuWiper
from agents.daemon.lib.errors import Failed
from agents.daemon.lib.journal import Journal
from agents.daemon.lib.sync_primitives import BackgroundCall
from agents.daemon.reconciler.acceptance_test import AcceptanceTest, find_container
from agents.daemon.reconciler.access_folder import AccessFolders
from agents.daemon.reconciler.image_pulls import ImagePuller
from agents.daemon.reconciler.jobs import Job
from agents.daemon.reconciler.plan import Kind
from agents.protocol.messages import DesiredInstance
from agents.protocol.progress_messages import say

NO_SPACE = "no space left on device"
PORT_TAKEN = ("address already in use", "port is already allocated")

Checkpoint = Callable[[str], None]


def no_checkpoint(name: str) -> None:
    """Do nothing between two steps; tests pass another checkpoint, which ends the process at a step."""


@dataclass(frozen=True)
class Limits:
    """Limits that the host's owner sets."""

    port_first: int
    port_last: int
    local_images: bool = False  # never pull an image
    ssh_deadline_s: float = 60.0
    program_s: float = 1.0  # how long the program of an image without SSH must keep running
    parallel_pulls: int = 2
    pull_stall_s: float = STALL_SECONDS
    pull_total_s: float = TOTAL_SECONDS
    cuda: str = ""  # highest version that the driver supports


class ActionExecutor:
    """Carries out actions on one host."""

    def __init__(
        self,
        *,
        runtime: Runtime,
        disks: Disks,
        access: AccessFolders,
        journal: Journal,
        limits: Limits,
        volumes: Volumes | None = None,
        checkpoint: Checkpoint = no_checkpoint,
        bridge: SshGateway | None = None,
        wipes: GpuWiper | None = None,
        cache: ImageCache | None = None,
    ) -> None:
        self._runtime = runtime
        self._bridge = bridge or SimulatedSshGateway()
        self._disks = disks
        self._volumes = volumes or SimulatedVolumes()
        self._access = access
        self._journal = journal
        self._limits = limits
        self._checkpoint = checkpoint
        self._gpus = GpuClaims(runtime)
        self._wipes = wipes
        self._acceptance = AcceptanceTest(
            runtime, self._bridge, ssh_deadline_s=limits.ssh_deadline_s, program_s=limits.program_s
        )
        self.images = ImagePuller(
            runtime,
            parallel=limits.parallel_pulls,
            local=limits.local_images,
            stall_s=limits.pull_stall_s,
            total_s=limits.pull_total_s,
            cuda=limits.cuda,
            cache=cache,
        )

    def run(self, job: Job) -> None:
        """Carry out a job; a later call continues after Failed, Superseded or an error of the engine."""
        step: dict[Kind, Callable[[Job], None]] = {
            "create": self._create,
            "start": self._start_existing,
            "attach": self._attach,
            "test": self._test,
            "advance": self._advance,
            "replace": self._replace,
            "reimage": self._reimage,
            "discard": self._discard,
            "refresh": self._refresh,
            "stop": self._stop,
            "remove": self._remove,
        }
        step[job.action.kind](job)

    def leftovers(self, instance: str) -> list[str]:
        return [
            *self._runtime.leftovers(instance),
            *self._disks.leftovers(instance),
            *self._access.leftovers(instance),
            *self._bridge.leftovers(instance),
        ]

    def _create(self, job: Job) -> None:
        desired = job.desired
        base: str | None = desired.image
        entry = self._journal.entry(desired.id)
        if desired.root_brought or desired.root_made or (entry.accepted and entry.root == desired.root):
            base = self._runtime.saved_root(desired.id)
        if base is None:
            raise Failed("root_lost", "The instance's root file system is gone from the host.")
        if base == desired.image:
            self._ensure_image(job)
        self._build(job, base)

    def _ensure_image(self, job: Job) -> None:
        if self.images.bring(job):
            self._checkpoint("pulled")

    def _build(self, job: Job, base: str) -> None:
        job.report("creating")
        with _as_failure("create_failed"):
            self._check_ports(job.desired)
            network = BackgroundCall(partial(self._runtime.make_network, job.desired.id), inline=self._runtime.instant)
            try:
                container = self._make(job.desired, base, network)
            finally:
                network.settle()  # a later removal must not race with it
            network.wait()
        self._checkpoint("network")
        self._launch(job, container)

    def _make(self, desired: DesiredInstance, base: str, network: BackgroundCall) -> str:
        access, disk = self._prepare_storage(desired)
        order = ContainerOrder(desired, base, access, disk, self._volumes.bind(desired.mounts))
        try:
            container = self._runtime.create(order)
        except EngineRefused as error:
            if not error.missing:
                raise
            network.wait()  # some engines require the network at this point
            container = self._runtime.create(order)
        self._checkpoint("created")
        return container

    def _prepare_storage(self, desired: DesiredInstance) -> tuple[str, str]:
        """Prepare the access folder and the data disk, and return their paths ("" for no disk)."""
        access = str(self._access.write(desired))
        self._checkpoint("access")
        disk = str(self._data_disk(desired)) if desired.data_disk_gb else ""
        self._checkpoint("disk")
        return access, disk

    def _data_disk(self, desired: DesiredInstance) -> Path:
        """Mount the data disk, which is made only once: a missing one is never replaced by an empty one."""
        if not (desired.data_disk_made or self._journal.entry(desired.id).disk_made):
            self._disks.make(desired.id, desired.data_disk_gb)
            self._checkpoint("disk-made")
            self._journal.amend(desired.id, disk_made=True)
        try:
            return self._disks.mount(desired.id)
        except DiskMissing as error:
            raise Failed("data_disk_missing", f"The data disk is not on its host: {error}") from error

    def _check_ports(self, desired: DesiredInstance) -> None:
        for _, host_port in desired.ports:
            if not self._limits.port_first <= host_port <= self._limits.port_last:
                raise Failed("create_failed", f"Port {host_port} is not among those this host keeps for instances.")

    def _start_existing(self, job: Job) -> None:
        self._restart(job, job.action.containers[0].id)

    def _restart(self, job: Job, container: str) -> None:
        """Start an existing container; after a reboot, for example, its data disk has to be mounted again."""
        job.report("creating")
        with _as_failure("start_failed"):
            self._prepare_storage(job.desired)
            self._volumes.bind(job.desired.mounts)
            self._runtime.attach(container, job.desired.id)
        self._launch(job, container)

    def _attach(self, job: Job) -> None:
        self._runtime.attach(job.action.containers[0].id, job.desired.id)
        self._checkpoint("attached")

    def _launch(self, job: Job, container: str) -> None:
        with _as_failure("start_failed"), self._gpus.claimed(job.desired):
            job.check()
            if self._wipes is not None:
                self._wipes.prepare(job.desired)
            self._start(job.desired, container)
        self._checkpoint("started")
        self._run_acceptance_test(job, container)

    def _start(self, desired: DesiredInstance, container: str) -> None:
        try:
            self._runtime.start(container)
        except EngineRefused as error:
            detail = str(error)
            named = [port for _, port in desired.ports if re.search(rf":{port}\b", detail)]
            if named and any(words in detail.lower() for words in PORT_TAKEN):
                taken = f"Port {named[0]} of the host is taken by another program."
                raise Failed("port_taken", taken, about=str(named[0])) from error
            raise

    def _test(self, job: Job) -> None:
        self._run_acceptance_test(job, job.action.containers[0].id)

    def _run_acceptance_test(self, job: Job, container: str) -> None:
        desired = job.desired
        job.report("testing")
        try:
            self._acceptance.of(job, container)
        except Failed as failure:
            # Written before the stop: an agent that replaces a killed one must not take this signal for a stranger's.
            if not job.cancelled.is_set():
                self._journal.record_failure(desired, failure.code, failure.detail, failure.about)
            self._runtime.stop(container, 0)
            raise
        self._checkpoint("tested")
        found = find_container(self._runtime, desired.id, container)
        run = found.started_at if found is not None else ""
        self._journal.amend(desired.id, accepted=desired.generation, root=desired.root, accepted_run=run)
        self._checkpoint("accepted")

    def _advance(self, job: Job) -> None:
        desired, old = job.desired, job.action.containers[0]
        job.report("creating")
        self._stop_containers(job)
        # Written before the rename: afterwards an unchanged start timestamp means that the start is still to come.
        halted = find_container(self._runtime, desired.id, old.id)
        self._journal.amend(
            desired.id, starting=desired.generation, started_from=halted.started_at if halted else old.started_at
        )
        self._checkpoint("intended")
        self._runtime.rename(old.id, desired.id, desired.generation)
        self._checkpoint("renamed")
        self._restart(job, old.id)

    def _replace(self, job: Job) -> None:
        desired, old = job.desired, job.action.containers[0]
        job.report("creating", say("saving_system_disk"))
        self._stop_containers(job)
        saved = self._runtime.saved_root(desired.id, desired.generation)
        if saved is None:
            with _as_failure("create_failed"):
                saved = self._runtime.save_root(old.id, desired.id, desired.generation)
        self._checkpoint("saved")
        self._build(job, saved)

    def _reimage(self, job: Job) -> None:
        """Make a fresh root; the old one runs until the image is pulled, and is kept until the new one runs."""
        entry = self._journal.entry(job.desired.id)
        if job.desired.root_made or (entry.accepted and entry.root >= job.desired.root):
            raise Failed("root_lost", "The instance's root file system is gone from the host.")
        self._ensure_image(job)
        job.report("creating", say("making_system_disk"))
        self._stop_containers(job)
        self._build(job, job.desired.image)

    def _stop_containers(self, job: Job) -> None:
        for container in job.action.containers:
            self._stop_container(job, container)

    def _stop_container(self, job: Job, container: Container) -> None:
        if container.status in ("running", "paused"):
            job.check()
            self._runtime.stop(container.id, job.desired.stop_grace_s)
            self._checkpoint("halted")

    def _discard(self, job: Job) -> None:
        """Remove containers of other roots, and saved layers of earlier ones.

        Those could pass for the present root's. A later root that never ran has none; the present one needs the others.
        """
        outdated = any(container.root < job.desired.root for container in job.action.containers)
        if outdated:
            self._runtime.remove_roots(job.desired.id, job.desired.generation)
            self._checkpoint("forgotten")
        self._remove_containers(job.action.containers)

    def _refresh(self, job: Job) -> None:
        """Rewrite the access folder; a notice is in its file before the programs are signalled."""
        answer = self._access.has_current_notice(job.desired)
        self._access.write(job.desired)
        self._checkpoint("refreshed")
        if not answer:
            self._runtime.warn(job.action.containers[0].id)

    def _stop(self, job: Job) -> None:
        job.report("stopping")
        with job.passable():
            for container in job.action.containers:
                self._runtime.stop(container.id, job.desired.stop_grace_s)
        self._checkpoint("stopped")

    def _remove(self, job: Job) -> None:
        instance = job.desired.id
        job.report("stopping")
        self._stop_containers(job)
        # Listed again: a start that was cancelled may have made another container meanwhile.
        self._remove_containers(self._runtime.containers(instance))
        self._runtime.clear(instance)
        self._checkpoint("cleared")
        self._disks.delete(instance)
        self._checkpoint("disk-removed")
        self._access.delete(instance)
        self._bridge.delete_key(instance)
        left = self.leftovers(instance)
        if left:
            raise EngineRefused(f"still there: {', '.join(left)}")

    def _remove_containers(self, own: Iterable[Container]) -> None:
        for container in own:
            self._runtime.remove(container.id)
            self._checkpoint("removed")


@contextmanager
def _as_failure(code: str) -> Iterator[None]:
    try:
        yield
    except DiskFull as error:
        raise Failed("disk_full", "The host has no room for the data disk.") from error
    except DiskMissing as error:  # a data disk's is handled before, so this is the root's
        raise Failed("root_lost", "The instance's root file system is gone from the host.") from error
    except (EngineRefused, DiskCommandFailed) as error:
        raise Failed("disk_full" if NO_SPACE in str(error).lower() else code, str(error)) from error
    except OSError as error:
        if error.errno in (errno.EROFS, errno.EIO):
            raise Failed(code, f"The host's disk takes no writes or cannot be read: {error.strerror}.") from error
        if error.errno != errno.ENOSPC:
            raise
        raise Failed("disk_full", "The host's disk is full.") from error
