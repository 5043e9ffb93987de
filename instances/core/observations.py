"""Contents of a host's report about one instance."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

from common.messages.message import Message
from instances.constants import TRACE_SECONDS_MAX
from instances.models import InstanceSample, InstanceTrace
from storage.images.pull_progress import Layer

TRACED: Final = ("gpu", "vram", "power", "temp", "cpu", "ram")


class GpuUse(Protocol):
    """Usage of one GPU, in percent, MiB, degrees Celsius and watts."""

    @property
    def uuid(self) -> str: ...
    @property
    def util_pct(self) -> int: ...
    @property
    def vram_used_mb(self) -> int: ...
    @property
    def temperature_c(self) -> int: ...
    @property
    def power_w(self) -> int: ...


class PerSecondUse(Protocol):
    """Usage in each of the last seconds, oldest first, as lists of equal length."""

    @property
    def gpu(self) -> Sequence[int]: ...
    @property
    def vram(self) -> Sequence[int]: ...
    @property
    def power(self) -> Sequence[int]: ...
    @property
    def temp(self) -> Sequence[int]: ...
    @property
    def cpu(self) -> Sequence[int]: ...
    @property
    def ram(self) -> Sequence[int]: ...


class InstanceUse(Protocol):
    """Usage of one instance, as its agent measured it."""

    @property
    def cpu_pct(self) -> float: ...
    @property
    def ram_mb(self) -> int: ...
    @property
    def disk_mb(self) -> int: ...
    @property
    def rx_bytes(self) -> int: ...
    @property
    def tx_bytes(self) -> int: ...
    @property
    def gpus(self) -> Sequence[GpuUse]: ...
    @property
    def oom_kills(self) -> int: ...
    @property
    def sessions(self) -> int: ...
    @property
    def trace(self) -> PerSecondUse | None: ...


class StartScriptRun(Protocol):
    """State of the start script of one run."""

    @property
    def state(self) -> str: ...
    @property
    def exit_code(self) -> int | None: ...


@dataclass(frozen=True)
class ObservedRow:
    """A host agent's observation of one instance."""

    id: UUID
    generation: int
    phase: str
    gpu_uuids: Sequence[str] = ()
    container: str = ""
    run_seconds: float = 0.0
    detail: Message | None = None
    failure_code: str = ""
    sample: InstanceUse | None = None
    layers: Sequence[Layer] = ()
    on_start: StartScriptRun | None = None
    ready: str = ""


def sample_of(instance_id: UUID, use: InstanceUse, at: datetime) -> InstanceSample:
    gpus = use.gpus
    return InstanceSample(
        instance_id=instance_id,
        at=at,
        cpu_pct=use.cpu_pct,
        ram_mb=use.ram_mb,
        disk_mb=use.disk_mb,
        rx_bytes=use.rx_bytes,
        tx_bytes=use.tx_bytes,
        gpu_util_pct=_mean_util(use),
        vram_used_mb=sum(gpu.vram_used_mb for gpu in gpus),
        power_w=sum(gpu.power_w for gpu in gpus),
        temperature_c=max((gpu.temperature_c for gpu in gpus), default=0),
        oom_kills=use.oom_kills,
        sessions=use.sessions,
        gpus=[[gpu.uuid, gpu.util_pct, gpu.vram_used_mb, gpu.temperature_c, gpu.power_w] for gpu in gpus],
    )


def trace_of(instance_id: UUID, use: InstanceUse, at: datetime) -> InstanceTrace | None:
    """Return the usage by the second, cut to the newest TRACE_SECONDS_MAX; None where none was sent."""
    if use.trace is None or not use.trace.gpu:
        return None
    values = {name: list(getattr(use.trace, name))[-TRACE_SECONDS_MAX:] for name in TRACED}
    return InstanceTrace(instance_id=instance_id, at=at, values=values)


def _mean_util(use: InstanceUse) -> float:
    """Return the mean GPU usage over the seconds where known.

    A single reading in twenty seconds may fall between two batches.
    """
    if use.trace is not None and use.trace.gpu and use.gpus:
        return sum(use.trace.gpu) / len(use.trace.gpu)
    return sum(gpu.util_pct for gpu in use.gpus) / len(use.gpus) if use.gpus else 0.0
