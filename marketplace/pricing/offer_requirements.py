"""Requirements of an order on an offer, shared by searches (on columns) and quotes (on one offer)."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from marketplace.pricing.prices import TERM_HOURS

# GPUs that can be ordered: the free ones, and those that spot rents release for an order, two minutes later. None
# where the host limits system disks and has no room for another one.
ORDERABLE_SQL: Final = "CASE WHEN system_disk_gb > 0 AND disk_free_gb = 0 THEN 0 ELSE gpu_free + gpu_spot END"
NO_CUDA: Final = -1  # what `version_number` returns for a text that is no version


def has_system_disk(*, system_disk_gb: int, disk_free_gb: int) -> bool:
    """Return whether there is room for another root, as in ORDERABLE_SQL.

    `disk_free_gb` is what is free besides one.
    """
    return not system_disk_gb or disk_free_gb > 0


def end_of_term(now: datetime, term: str) -> datetime:
    """Return the end of a reserved term ordered now; the host must have promised to stay until then."""
    return now + timedelta(hours=TERM_HOURS[term])


def terms_within(terms: Collection[str], *, listed_until: datetime | None, now: datetime) -> list[str]:
    """Return the offer's terms that its host stays for, in the order of their lengths."""
    return [
        term for term in TERM_HOURS if term in terms and (listed_until is None or end_of_term(now, term) <= listed_until)
    ]


@dataclass(frozen=True)
class ImageNeeds:
    """Requirements of an image on a host.

    `cuda` is a `version_number`; `room_gb` is its space besides the data disk; an image that exists only on the
    host where it was saved names that host.
    """

    cuda: int = NO_CUDA
    room_gb: int = 0
    host_id: UUID | None = None

    def driver_suffices(self, cuda: Any) -> Any:
        return cuda >= self.cuda

    def room_suffices(self, free_gb: Any, data_disk_gb: int) -> Any:
        return free_gb >= self.room_gb + data_disk_gb

    def lies_at(self, host_id: UUID) -> bool:
        return self.host_id in (None, host_id)


NO_IMAGE: Final = ImageNeeds()


@dataclass(frozen=True)
class Needs:
    """Amounts that must be free together; they are compared with numbers or with columns."""

    gpu_count: int
    disk_gb: int

    def gpus_suffice(self, orderable: Any) -> Any:
        return orderable >= self.gpu_count

    def disk_suffices(self, free_gb: Any) -> Any:
        return free_gb >= self.disk_gb


def needs_of(*, gpu_count: int, data_disk_gb: int) -> Needs:
    return Needs(gpu_count=gpu_count, disk_gb=data_disk_gb)
