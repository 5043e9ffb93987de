"""What the console shows of instances: rows, words for events, graphs. It reads by selectors and keeps nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, Final
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from billing.selectors import Cost
from common import clock
from instances.models import Instance, InstanceEvent
from instances.policy import METRICS_DEFAULT, RETENTION
from instances.selectors import Sample, costs_of_instances, events_of, instance_of, instances_of, metrics_of
from instances.shapes import access_shape, health_of
from instances.states import InstanceState
from marketplace.catalogue import by_slug
from marketplace.selectors.reliability import coming_maintenance

ROWS_ON_A_PAGE: Final = 20
EVENTS_SHOWN: Final = 60
_MIB: Final = 1024
_KIB: Final = 1024
_LONGEST_GAP_S: Final = 120
_CORE_PCT: Final = 1000


@dataclass(frozen=True)
class Row:
    """One instance as the console shows it."""

    instance: Instance
    cost: Cost
    access: dict[str, Any]
    health: str
    gpu: str

    @property
    def is_running(self) -> bool:
        return self.instance.state == InstanceState.RUNNING

    @property
    def present_rate_micros(self) -> int:
        """What a start would cost an hour now; the offer's price may have changed since."""
        return self.instance.offer.price_micros * self.instance.gpu_count

    @property
    def price_rose(self) -> bool:
        return self.present_rate_micros > self.instance.rate_micros_per_hour


@dataclass(frozen=True)
class EventRow:
    """One event in words. `color` is that of the state it led to."""

    at: datetime
    words: str | Promise
    detail: str
    to_state: str


def rows_of(renter: User, *, gone: bool, page: str | None) -> Page[Instance]:
    """A page of the renter's instances; its `rows` are ready to show. Those that are gone are a list of their own."""
    mine = instances_of(renter)
    chosen = mine.filter(state=InstanceState.GONE) if gone else mine.exclude(state=InstanceState.GONE)
    found = Paginator(chosen, ROWS_ON_A_PAGE).get_page(page)
    found.rows = _rows(list(found.object_list))  # type: ignore[attr-defined]  # a page that knows its rows
    return found


def list_context(renter: User, *, gone: bool, page: str | None) -> dict[str, Any]:
    found = rows_of(renter, gone=gone, page=page)
    return {"page": found, "rows": found.rows, "gone": gone, "now": clock.now()}  # type: ignore[attr-defined]  # as above


def instance_context(renter: User, instance_id: UUID) -> dict[str, Any]:
    instance = instance_of(renter, instance_id)
    events = [_event_row(event) for event in events_of(instance)[:EVENTS_SHOWN]]
    now = clock.now()
    return {
        "row": _rows([instance])[0],
        "events": events,
        "now": now,
        "retention_days": RETENTION.days,
        "maintenance": [] if instance.released_at else coming_maintenance([instance.host_id], now),
    }


def _rows(instances: Sequence[Instance]) -> list[Row]:
    now = clock.now()
    costs = costs_of_instances(instances, now)
    return [
        Row(
            instance=instance,
            cost=costs[instance.pk],
            access=access_shape(instance),
            health=health_of(instance, now),
            gpu=by_slug(instance.offer.gpu_model).name,
        )
        for instance in instances
    ]


EVENT_WORDS: Final[dict[str, str | Promise]] = {
    "rented": _("Rented"),
    "rented_from_wait_list": _("Rented for you from the wait list, for this search"),
    "provisioning": _("The host is preparing it"),
    "running": _("Running: SSH answers and every GPU is visible inside"),
    "stop_asked": _("You asked to stop it"),
    "start_asked": _("You asked to start it"),
    "restart_asked": _("You asked to restart it"),
    "release_asked": _("You asked to release it"),
    "stopped": _("Stopped; what was not used of the held hour came back"),
    "gpus_released": _("Its GPUs are free for others again"),
    "failed": _("Failed"),
    "gone": _("Gone: nothing of it is left on the host"),
    "retention_over": _("Released: its data was kept for 30 days after the stop"),
    "funds_exhausted": _("Stopped: the wallet could not pay for another hour"),
    "overdue": _("This step takes longer than it should"),
    "foreign": _("The host reported something strange"),
    "given_back": _("Given back, since the host failed: what the last hour of the run cost"),
    "maintenance_announced": _("The host's owner announced maintenance"),
    "maintenance_cancelled": _("The host's owner called the maintenance off"),
}


def _event_row(event: InstanceEvent) -> EventRow:
    words = EVENT_WORDS.get(event.kind, event.kind.replace("_", " "))
    return EventRow(at=event.at, words=words, detail=event.detail, to_state=event.to_state)


def graphs_of(renter: User, instance_id: UUID) -> dict[str, Any]:
    """Use over the last hour as the page's script draws it: times, and five graphs with their units and ends of scale."""
    instance = instance_of(renter, instance_id)
    now = clock.now()
    samples = metrics_of(instance, since=now - METRICS_DEFAULT, until=now)
    return {"at": [int(sample.at.timestamp()) for sample in samples], "graphs": _graphs(instance, samples)}


def _graphs(instance: Instance, samples: Sequence[Sample]) -> list[dict[str, Any]]:
    vram_gb = instance.offer.vram_mb * instance.gpu_count / _MIB
    return [
        {"name": "gpu", "unit": "%", "max": 100, "series": [[float(sample.gpu_util_pct) for sample in samples]]},
        {
            "name": "vram",
            "unit": "GB",
            "max": vram_gb,
            "series": [[float(sample.vram_used_mb) / _MIB for sample in samples]],
        },
        {
            "name": "cpu",
            "unit": "%",
            "max": 100,
            "series": [[float(sample.cpu_pct) * _CORE_PCT / max(1, instance.cpu_millis) for sample in samples]],
        },
        {
            "name": "ram",
            "unit": "GB",
            "max": instance.ram_mb / _MIB,
            "series": [[float(sample.ram_mb) / _MIB for sample in samples]],
        },
        {"name": "net", "unit": "KB/s", "least": 10, "series": [_rates(samples, "rx_bytes"), _rates(samples, "tx_bytes")]},
    ]


def _rates(samples: Sequence[Sample], name: str) -> list[float | None]:
    """Kilobytes a second: a sample counts the bytes since the one before it. None where a gap leaves that unknown."""
    rates: list[float | None] = [None] if samples else []
    for before, after in pairwise(samples):
        seconds = (after.at - before.at).total_seconds()
        rates.append(getattr(after, name) / _KIB / seconds if 0 < seconds <= _LONGEST_GAP_S else None)
    return rates
