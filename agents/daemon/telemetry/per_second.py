"""Usage of running containers per second, kept until a report with it has arrived."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields

from agents.daemon.engine.interface import Container, Runtime, Usage
from agents.daemon.gpu.nvml import GpuProbe
from agents.protocol.telemetry_messages import SecondTrace

EVERY_S = 1.0
KEPT = 60  # seconds: three reports
NS = 1_000_000_000
_NAMES = tuple(field.name for field in fields(SecondTrace))


@dataclass
class _ContainerTrace:
    """Seconds of one run of a container."""

    run: tuple[str, str]
    points: deque[tuple[int, ...]]
    last: tuple[float, Usage] | None = None
    reported: int = 0


class PerSecondSampler:
    """Samples each container that `set_running` names; `start` runs a thread that does so every second."""

    def __init__(self, runtime: Runtime, probe: GpuProbe, clock: Callable[[], float] = time.monotonic) -> None:
        self._runtime = runtime
        self._probe = probe
        self._clock = clock
        self._lock = threading.Lock()
        self._running: list[Container] = []
        self._tracks: dict[str, _ContainerTrace] = {}
        self._begun = False

    def start(self, stopped: threading.Event) -> None:
        self._begun = True
        threading.Thread(target=self._run, args=(stopped,), name="seconds", daemon=True).start()

    def set_running(self, running: Iterable[Container]) -> None:
        """Set the containers that run now, and drop what is known of others."""
        if not self._begun:
            return
        with self._lock:
            self._running = list(running)
            kept = {container.instance: (container.id, container.started_at) for container in self._running}
            self._tracks = {key: track for key, track in self._tracks.items() if kept.get(key) == track.run}
            for key, run in kept.items():
                self._tracks.setdefault(key, _ContainerTrace(run, deque(maxlen=KEPT)))

    def look(self) -> None:
        """Take one sample of each container."""
        with self._lock:
            running = list(self._running)
        for container in running:
            usage, now = self._runtime.usage(container), self._clock()
            if usage is None:
                continue
            gpus = self._probe.samples(container.gpu_uuids)
            with self._lock:
                track = self._tracks.get(container.instance)
                if track is None or track.run != (container.id, container.started_at):
                    continue
                before, track.last = track.last, (now, usage)
                if before is None or now <= before[0]:
                    continue  # a rate needs two samples
                cpu = max(0, usage.cpu_ns - before[1].cpu_ns) / NS / (now - before[0]) * 100
                point = (
                    round(sum(gpu.util_pct for gpu in gpus) / len(gpus)) if gpus else 0,
                    sum(gpu.vram_used_mb for gpu in gpus),
                    sum(gpu.power_w for gpu in gpus),
                    max((gpu.temperature_c for gpu in gpus), default=0),
                    round(cpu),
                    usage.ram_mb,
                )
                track.reported = max(0, track.reported - 1) if len(track.points) == KEPT else track.reported
                track.points.append(point)

    def trace(self, instance: str) -> SecondTrace | None:
        """Return the seconds that no report has brought yet; None without any."""
        with self._lock:
            track = self._tracks.get(instance)
            if track is None or not track.points:
                return None
            track.reported = len(track.points)
            return SecondTrace(**{name: [point[place] for point in track.points] for place, name in enumerate(_NAMES)})

    def keep(self) -> None:
        """Drop the seconds of the last report, which has arrived."""
        with self._lock:
            for track in self._tracks.values():
                for _ in range(track.reported):
                    track.points.popleft()
                track.reported = 0

    def _run(self, stopped: threading.Event) -> None:
        due = self._clock()
        while not stopped.wait(max(0.0, due - self._clock())):
            self.look()
            due = max(due + EVERY_S, self._clock())
