"""What an order needs of an offer: the search asks it of whole columns, a quote of one offer, both by these functions."""

from dataclasses import dataclass
from typing import Any, Final

# GPUs that can be ordered: the free ones, and those that spot rents give up for an order, two minutes later. None where the
# host limits system disks and has no room for another one.
ORDERABLE_SQL: Final = "CASE WHEN system_disk_gb > 0 AND disk_free_gb = 0 THEN 0 ELSE gpu_free + gpu_spot END"


def has_system_disk(*, system_disk_gb: int, disk_free_gb: int) -> bool:
    """Whether another root has its place, as ORDERABLE_SQL says; `disk_free_gb` is what is free beside one."""
    return not system_disk_gb or disk_free_gb > 0


@dataclass(frozen=True)
class Needs:
    """How much must be free together. What is compared may be a number or a column of them."""

    gpu_count: int
    disk_gb: int

    def gpus_suffice(self, orderable: Any) -> Any:
        return orderable >= self.gpu_count

    def disk_suffices(self, free_gb: Any) -> Any:
        return free_gb >= self.disk_gb


def needs_of(*, gpu_count: int, data_disk_gb: int) -> Needs:
    return Needs(gpu_count=gpu_count, disk_gb=data_disk_gb)
