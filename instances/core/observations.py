"""What a host's report says of one instance, in the market's own words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

from instances.constants import TRACE_SECONDS_MAX
from instances.models import InstanceSample, InstanceTrace
from storage.images.pull_progress import Layer

TRACED: Final = ("gpu", "vram", "power", "temp", "cpu", "ram")


class GpuUse(Protocol):
    """Use of one GPU, in percent, MiB, degrees Celsius and watts."""

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


class Seconds(Protocol):
    """Use in each of the last seconds, oldest first: lists of equal length."""

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


class Use(Protocol):
    """Use of one instance, as its agent measured it."""

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
    def trace(self) -> Seconds | None: ...


@dataclass(frozen=True)
class ObservedRow:
    """What a host's agent sees of one instance."""

    id: UUID
    generation: int
    phase: str
    gpu_uuids: Sequence[str] = ()
    container: str = ""
    run_seconds: float = 0.0
    detail: str = ""
    failure_code: str = ""
    sample: Use | None = None
    layers: Sequence[Layer] = ()


def sample_of(instance_id: UUID, use: Use, at: datetime) -> InstanceSample:
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


def trace_of(instance_id: UUID, use: Use, at: datetime) -> InstanceTrace | None:
    """The seconds, with whatever is longer than they may be cut off at the old end; None where none were sent."""
    if use.trace is None or not use.trace.gpu:
        return None
    values = {name: list(getattr(use.trace, name))[-TRACE_SECONDS_MAX:] for name in TRACED}
    return InstanceTrace(instance_id=instance_id, at=at, values=values)


def _mean_util(use: Use) -> float:
    """Over the seconds where they are known: one look in twenty seconds may fall between two batches."""
    if use.trace is not None and use.trace.gpu and use.gpus:
        return sum(use.trace.gpu) / len(use.trace.gpu)
    return sum(gpu.util_pct for gpu in use.gpus) / len(use.gpus) if use.gpus else 0.0
