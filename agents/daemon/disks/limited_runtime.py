"""Docker runtime that limits what a container can write to the host's disk: see system_disks.py."""

import io
import json
import logging
import os
import tarfile
import threading
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from agents.daemon.disks.loop_disks import DiskFull
from agents.daemon.disks.root_usage_watch import CODE, RootUsage, RootWatch
from agents.daemon.disks.system_disks import Layer, SystemDisks
from agents.daemon.docker_engine.container_spec import HOST_LABEL, INSTANCE_LABEL, ROOT_LABEL, EngineOptions, disk_limit_gb
from agents.daemon.docker_engine.errors import convert_engine_errors
from agents.daemon.docker_engine.runtime import WATCH_RETRY, DockerRuntime
from agents.daemon.engine.interface import ContainerOrder, EngineRefused, EngineSilent, ImageFacts, RootLimit
from agents.daemon.lib.atomic_files import write_atomically
from agents.daemon.lib.errors import Failed
from agents.daemon.lib.journal import Journal
from agents.daemon.lib.sizes import GIB

logger = logging.getLogger(__name__)

BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
TRIAL: Final = "berth-trial"
TRIAL_FILE: Final = "written-by-the-engine"
TRIAL_INSTANCE: Final = "trial"
DRIVER: Final = "overlay2"
NO_SPACE: Final = "no space left on device"
SIZE_TOLERANCE: Final = 1.01  # times the size of the disk, as seen from inside


class LimitedRuntime(DockerRuntime):
    """Runtime whose containers have their root on a disk of its own, if the engine supports that."""

    def __init__(self, options: EngineOptions, systems: SystemDisks, state: Path) -> None:
        super().__init__(options)
        self._systems = systems
        self._journal: Journal | None = None
        self._found_at = state / "root-limit.json"
        # Named by the folder, since a host has no other name before its enrolment.
        self._trial = f"{TRIAL}-{sha256(str(state).encode()).hexdigest()[:12]}"
        self._found: RootLimit | None = None
        self._finding = threading.Lock()

    def root_limit(self) -> RootLimit:
        """Return whether roots are limited; tried once for each boot and version of the engine.

        Raises:
            EngineSilent: The engine does not answer.
            EngineRefused: The engine refuses a request.
        """
        with self._finding:
            if self._found is None:
                self._found = self._detect()
            return self._found

    def _detect(self) -> RootLimit:
        engine = f"{self.version()} {BOOT_ID.read_text().strip()}"
        known = json.loads(self._found_at.read_text()) if self._found_at.exists() else {}
        found: RootLimit = known.get(engine) or self._run_trial()
        if found == "disk" and engine not in known:  # only success is kept: what failed may work at the next start
            write_atomically(self._found_at, json.dumps({engine: found}).encode())
        return found

    def create(self, order: ContainerOrder) -> str:
        container = super().create(order)
        self.open_root(container)
        return container

    def start(self, container: str) -> None:
        layer = self.open_root(container)
        if layer is not None:
            self._systems.limit_network_files(layer)
        try:
            super().start(container)
        except EngineRefused as error:
            if layer is not None and NO_SPACE in str(error).lower() and self._systems.is_full(layer):
                raise Failed(CODE, "Its system disk is full, so that it does not start.") from error
            raise
        if layer is not None:
            self._check(layer)

    def watch(self, changed: Callable[[], None], stopped: threading.Event) -> None:
        """Watch the engine's events and, where roots have no limit, the sizes of the roots."""
        if self._journal is not None:
            watch = (self._journal, changed, stopped)
            threading.Thread(target=self._watch_roots, args=watch, name="roots", daemon=True).start()
        super().watch(changed, stopped)

    def _watch_roots(self, journal: Journal, changed: Callable[[], None], stopped: threading.Event) -> None:
        def stop(root: RootUsage, words: str) -> None:
            logger.warning("%s is stopped: %s", root.instance, words)
            if journal.entry(root.instance).generation == root.generation:
                why = {"failure_code": CODE, "failure_detail": words, "failure_about": ""}
                journal.amend(root.instance, failed=root.generation, **why)
                changed()

        while not stopped.is_set():
            try:
                if self.root_limit() == "none":
                    RootWatch(self.written, self.free_image_bytes, stop).run(stopped)
                return
            except (EngineSilent, EngineRefused) as error:
                logger.warning("how roots are limited is not known yet: %s", error)
                stopped.wait(WATCH_RETRY)

    def written(self) -> list[RootUsage]:
        """Return what running containers with a limit have written; the engine walks all their files for this."""
        own = {item.id: item for item in self.containers() if item.status == "running"}
        if not own:
            return []
        filters = {"label": f"{HOST_LABEL}={self.options.host_id}"}
        with convert_engine_errors():
            limits = {item["Id"]: disk_limit_gb(item["Labels"]) for item in self._changer.containers(filters=filters)}
            limited = [container for container in own if limits.get(container)]
            listed = self._changer.containers(filters={"id": limited}, size=True) if limited else []
        return [
            RootUsage(
                own[item["Id"]].instance,
                own[item["Id"]].generation,
                int(item.get("SizeRw") or 0),
                limits[item["Id"]] * GIB,
                own[item["Id"]].run_seconds,
            )
            for item in listed
        ]

    def remove(self, container: str) -> None:
        layer = self._layer(container)
        if layer is not None:
            self._systems.detach(layer)
            others = [item.root for item in self.containers(layer.instance) if item.id != container]
            if others and layer.root not in others:  # another root has taken its place
                self._systems.delete(layer.instance, layer.root)
        super().remove(container)

    def save_root(self, container: str, instance: str, generation: int) -> str:
        """Save the root; one on a system disk stays there, on its original image.

        A saved layer would lie outside of the limit.
        """
        layer = self.open_root(container)
        return super().save_root(container, instance, generation) if layer is None else f"sha256:{layer.base}"

    def saved_root(self, instance: str, generation: int | None = None) -> str | None:
        base = self._systems.base_of(instance) if generation is None else ""
        if base and self.has_image(f"sha256:{base}"):
            return f"sha256:{base}"
        return super().saved_root(instance, generation)

    def save_image(self, container: str, reference: str) -> ImageFacts:
        self.open_root(container)
        return super().save_image(container, reference)

    def clear(self, instance: str) -> None:
        super().clear(instance)
        self._systems.delete(instance)

    def leftovers(self, instance: str) -> list[str]:
        return [*super().leftovers(instance), *self._systems.leftovers(instance)]

    def recover(self, journal: Journal) -> None:
        """Remove what a killed agent left half-made, before any work; exceeded limits go to `journal`."""
        self._journal = journal
        self._systems.tidy()

    def open_root(self, container: str) -> Layer | None:
        """Mount a container's system disk, which is not mounted after a reboot; None for one without a disk."""
        layer = self._layer(container)
        if layer is not None:
            try:
                self._systems.attach(layer)
            except DiskFull as error:
                raise EngineRefused("no space left on device: the host has no room for the system disk") from error
        return layer

    def _layer(self, container: str) -> Layer | None:
        state = self._inspect(container)
        if state is None or not disk_limit_gb(state["Config"]["Labels"]) or self.root_limit() != "disk":
            return None
        return layer_of(state)

    def _check(self, layer: Layer) -> None:
        """Check that the container's root is the system disk, and stop the container otherwise.

        The engine may run in another mount namespace than at the trial; then it has mounted something else.
        """
        state = self._inspect(layer.container)
        pid = state["State"]["Pid"] if state is not None else 0
        try:
            seen = os.statvfs(f"/proc/{pid}/root") if pid else None
        except OSError:
            return  # it has already ended
        if seen is not None and seen.f_blocks * seen.f_frsize > self._systems.size_of(layer) * SIZE_TOLERANCE:
            self.stop(layer.container, 0)
            raise EngineRefused("the engine does not see the system disk that was mounted for the container")

    # -- the trial

    def _run_trial(self) -> RootLimit:
        """Try with a container that is never started: a file that the engine writes must arrive on the disk."""
        self.end_trial()
        try:
            return self._trial_result()
        except (EngineRefused, DiskFull, OSError) as error:
            logger.warning("root file systems are not limited on this host: %s", error)
            return "none"
        finally:
            self.end_trial()

    def _trial_result(self) -> RootLimit:
        with convert_engine_errors():
            self._changer.import_image_from_data(_archive({}), repository=self._trial)
            made = self._changer.create_container(self._trial, ["/none"], name=self._trial)
            state = self._changer.inspect_container(made["Id"])
        if state["GraphDriver"]["Name"] != DRIVER or not _folder_of(state).is_dir():
            driver = state["GraphDriver"]["Name"]
            logger.warning("root file systems are not limited on this host: its engine keeps them with %s", driver)
            return "none"
        layer = layer_of(state)
        self._systems.attach(layer)
        with convert_engine_errors():
            self._changer.put_archive(made["Id"], "/", _archive({TRIAL_FILE: b"here"}))
        if arrived(layer):
            return "disk"
        logger.warning("root file systems are not limited on this host: its engine does not see what the agent mounts")
        return "none"

    def end_trial(self) -> None:
        """Remove everything that the trial made."""
        state = self._inspect(self._trial)
        if state is not None:
            if state["GraphDriver"]["Name"] == DRIVER:
                self._systems.detach(layer_of(state))
            super().remove(state["Id"])
        self._systems.delete(TRIAL_INSTANCE)
        self.delete_image(self._trial)


def arrived(layer: Layer) -> bool:
    """Return whether the file that the engine wrote into the trial's container is on the disk."""
    return os.path.ismount(layer.folder) and (layer.folder / "diff" / TRIAL_FILE).exists()


def layer_of(state: Mapping[str, Any]) -> Layer:
    """Return the writable layer of one of our containers or of the trial's, from the engine's inspection."""
    labels = state["Config"]["Labels"] or {}
    volumes = [item for item in state["Mounts"] if item["Type"] == "volume"]
    folder = _folder_of(state)
    return Layer(
        container=state["Id"],
        instance=labels.get(INSTANCE_LABEL, TRIAL_INSTANCE),
        root=int(labels.get(ROOT_LABEL, "0")),
        size_gb=disk_limit_gb(labels),
        base=str(state["Image"]).removeprefix("sha256:"),
        folder=folder,
        names=folder.parent.parent / "containers" / state["Id"],
        volumes=tuple((item["Destination"], Path(item["Source"])) for item in volumes),
    )


def _folder_of(state: Mapping[str, Any]) -> Path:
    return Path((state["GraphDriver"]["Data"] or {}).get("UpperDir", "")).parent


def _archive(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()
