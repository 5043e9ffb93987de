"""Parts of the report with what a host measured of its GPUs and containers since the last one."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class SecondTrace:
    """Usage in each of the last seconds, oldest first: lists of equal length, at most 120 long.

    GPUs: mean percent, sum of MiB, sum of watts, highest °C. CPU in percent of one core, memory in MiB.
    """

    gpu: list[int] = field(default_factory=list)
    vram: list[int] = field(default_factory=list)
    power: list[int] = field(default_factory=list)
    temp: list[int] = field(default_factory=list)
    cpu: list[int] = field(default_factory=list)
    ram: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class GpuEvent:
    """Error of a GPU (Xid) logged by its driver; `count` since the last report that arrived."""

    uuid: str
    xid: int
    count: int = 1
