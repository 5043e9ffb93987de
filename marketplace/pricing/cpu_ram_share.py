"""Share of CPU and memory that comes with one GPU of a host, rounded down; nobody gets the remainder."""

from dataclasses import dataclass

from marketplace.constants import HOST_RAM_RESERVE_DIVISOR

_USUAL_COUNTS = (1, 2, 3, 4, 6, 8, 10, 12, 16)


@dataclass(frozen=True)
class Share:
    """CPU in thousandths of a core, and memory in MiB."""

    cpu_millis: int
    ram_mb: int

    def times(self, count: int) -> "Share":
        return Share(self.cpu_millis * count, self.ram_mb * count)

    def fits_beside(self, taken: "Share", allocatable: "Share") -> bool:
        return (
            self.cpu_millis + taken.cpu_millis <= allocatable.cpu_millis and self.ram_mb + taken.ram_mb <= allocatable.ram_mb
        )


def allocatable(*, cpu_cores: int, ram_mb: int) -> Share:
    """Return what a host can give to containers: every core, and its memory except for the reserve."""
    return Share(cpu_cores * 1000, ram_mb - ram_mb // HOST_RAM_RESERVE_DIVISOR)


def share_per_gpu(*, cpu_cores: int, ram_mb: int, gpu_count: int) -> Share:
    """Return the share of one GPU; all shares together never exceed what is allocatable (fault 12)."""
    whole = allocatable(cpu_cores=cpu_cores, ram_mb=ram_mb)
    if gpu_count < 1:
        return Share(0, 0)
    return Share(whole.cpu_millis // gpu_count, whole.ram_mb // gpu_count)


def runs_without_gpus(*, ram_mb: int, each_mb: int) -> int:
    """Return how many containers without GPUs a host takes at once.

    They may use half of the host's own reserve, so that GPUs leased meanwhile get their whole share.
    """
    return max(1, ram_mb // HOST_RAM_RESERVE_DIVISOR // 2 // each_mb)


def usual_counts(total: int) -> list[int]:
    """Return the numbers of an offer's GPUs to offer as choices: the usual ones, and all of them."""
    return sorted({count for count in _USUAL_COUNTS if count <= total} | ({total} if total else set()))
