"""Usage of each instance between two reports, from counters that only grow."""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from agents.daemon.disks.loop_disks import Disks
from agents.daemon.engine.interface import Container, Runtime, Usage
from agents.daemon.gpu.nvml import GpuProbe
from agents.daemon.gpu.xid_events import GpuEvents, watch_nvml
from agents.daemon.telemetry.per_second import PerSecondSampler
from agents.protocol.messages import HostFacts, InstanceSample

MIN_INTERVAL = 5.0
NS = 1_000_000_000


@dataclass(frozen=True)
class _Baseline:
    container: str
    started_at: str
    at: float
    usage: Usage


class Telemetry:
    """Samples at most every MIN_INTERVAL seconds; `keep` makes them the base once the report has arrived."""

    def __init__(
        self,
        runtime: Runtime,
        disks: Disks,
        probe: GpuProbe,
        clock: Callable[[], float] = time.monotonic,
        streams_into: Callable[[str], int] = lambda _instance: 0,
    ) -> None:
        self._runtime = runtime
        self._disks = disks
        self._probe = probe
        self._clock = clock
        self._marks: dict[str, _Baseline] = {}
        self._fresh: dict[str, _Baseline] = {}
        self._taken_at = clock()
        self._seconds = PerSecondSampler(runtime, probe)
        self.gpu_events = GpuEvents()
        self._streams_into = streams_into

    def start(self, rang: Callable[[], None], stopped: threading.Event) -> None:
        """Sample every second and listen to the driver until `stopped`; `rang` is called on a GPU's error."""
        self._seconds.start(stopped)
        if not self._probe.simulated:
            watch = (self.gpu_events, rang, stopped)
            threading.Thread(target=watch_nvml, args=watch, name="gpus", daemon=True).start()

    def facts(self, facts_read: HostFacts) -> HostFacts:
        """Return the facts with GPUs marked as unfit for which the driver has reported a fatal error."""
        unfit = {gpu.uuid: why for gpu in facts_read.gpus if (why := self.gpu_events.why_unfit(gpu.uuid))}
        if not unfit:
            return facts_read
        gpus = [replace(gpu, healthy=False, detail=unfit[gpu.uuid]) if gpu.uuid in unfit else gpu for gpu in facts_read.gpus]
        return replace(facts_read, gpus=gpus)

    def sample(self, containers: Iterable[Container]) -> dict[str, InstanceSample]:
        now, running = self._clock(), list(containers)
        self._seconds.set_running(running)
        if now - self._taken_at < MIN_INTERVAL:
            return {}
        self._fresh, samples = {}, {}
        for container in running:
            usage = self._runtime.usage(container)
            if usage is not None:
                mark = _Baseline(container.id, container.started_at, now, usage)
                self._fresh[container.instance] = mark
                samples[container.instance] = self._sample(container, mark)
        return samples

    def keep(self) -> None:
        self.gpu_events.keep()
        if self._fresh:
            self._seconds.keep()
            self._marks, self._fresh, self._taken_at = self._fresh, {}, self._clock()

    def _sample(self, container: Container, mark: _Baseline) -> InstanceSample:
        last = self._marks.get(container.instance)
        if last is None or (last.container, last.started_at) != (mark.container, mark.started_at):
            # a new start, whose counters began at zero
            last = _Baseline(mark.container, mark.started_at, mark.at - container.run_seconds, Usage(0, 0, 0, 0))
        seconds = max(mark.at - last.at, 0.001)
        return InstanceSample(
            cpu_pct=round(max(0, mark.usage.cpu_ns - last.usage.cpu_ns) / NS / seconds * 100, 1),
            ram_mb=mark.usage.ram_mb,
            disk_mb=self._disks.used_mb(container.instance),
            rx_bytes=max(0, mark.usage.rx_bytes - last.usage.rx_bytes),
            tx_bytes=max(0, mark.usage.tx_bytes - last.usage.tx_bytes),
            gpus=self._probe.samples(container.gpu_uuids),
            oom_kills=mark.usage.oom_kills,
            trace=self._seconds.trace(container.instance),
            sessions=mark.usage.sessions + self._streams_into(container.instance),
        )
