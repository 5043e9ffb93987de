"""Use of each instance between two reports, from counters that only grow."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from agents.daemon.gpus import GpuProbe
from agents.daemon.runtime import Container, Runtime, Usage
from agents.daemon.volumes import Disks
from agents.protocol.messages import InstanceSample

MIN_INTERVAL = 5.0
NS = 1_000_000_000


@dataclass(frozen=True)
class _Mark:
    container: str
    started_at: str
    at: float
    usage: Usage


class Telemetry:
    """Takes samples at most every MIN_INTERVAL seconds; `keep` makes them the new base once the report has arrived."""

    def __init__(self, runtime: Runtime, disks: Disks, probe: GpuProbe, clock: Callable[[], float] = time.monotonic) -> None:
        self._runtime = runtime
        self._disks = disks
        self._probe = probe
        self._clock = clock
        self._marks: dict[str, _Mark] = {}
        self._fresh: dict[str, _Mark] = {}
        self._taken_at = clock()

    def take(self, running: Iterable[Container]) -> dict[str, InstanceSample]:
        now = self._clock()
        if now - self._taken_at < MIN_INTERVAL:
            return {}
        self._fresh, samples = {}, {}
        for container in running:
            usage = self._runtime.usage(container)
            if usage is not None:
                mark = _Mark(container.id, container.started_at, now, usage)
                self._fresh[container.instance] = mark
                samples[container.instance] = self._sample(container, mark)
        return samples

    def keep(self) -> None:
        if self._fresh:
            self._marks, self._fresh, self._taken_at = self._fresh, {}, self._clock()

    def _sample(self, container: Container, mark: _Mark) -> InstanceSample:
        last = self._marks.get(container.instance)
        if last is None or (last.container, last.started_at) != (mark.container, mark.started_at):
            # A new start: its counters began at zero.
            last = _Mark(mark.container, mark.started_at, mark.at - container.run_seconds, Usage(0, 0, 0, 0))
        seconds = max(mark.at - last.at, 0.001)
        return InstanceSample(
            cpu_pct=round(max(0, mark.usage.cpu_ns - last.usage.cpu_ns) / NS / seconds * 100, 1),
            ram_mb=mark.usage.ram_mb,
            disk_mb=self._disks.used_mb(container.instance),
            rx_bytes=max(0, mark.usage.rx_bytes - last.usage.rx_bytes),
            tx_bytes=max(0, mark.usage.tx_bytes - last.usage.tx_bytes),
            gpus=self._probe.samples(container.gpu_uuids),
        )
