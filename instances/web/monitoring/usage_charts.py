"""Usage over time as the page's script draws it: ranges, graphs with units, gaps without data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse, JsonResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.web.decorators import SignedInRequest, login_required_page
from common import clock
from common.ids import parse_public_id
from instances.constants import CPU_RUN_MILLIS, CPU_RUN_RAM_MB
from instances.core.selectors import instance_of
from instances.models import Instance
from instances.monitoring.usage_selectors import Sample, latest_sample, metrics_of

_MIB: Final = 1024
_KIB: Final = 1024
_LONGEST_GAP_S: Final = 120
_CORE_PCT: Final = 1000


@dataclass(frozen=True)
class Range:
    """A length of time that the page offers, with its resolution."""

    key: str
    words: str | Promise
    length: timedelta
    step_s: int

    @property
    def step_label(self) -> str | Promise:
        return _STEP_LABELS[self.step_s]


_STEP_LABELS: Final = {
    1: _("second by second"),
    20: _("every 20 seconds"),
    120: _("every 2 minutes"),
    300: _("every 5 minutes"),
    3600: _("hour by hour"),
    10_800: _("every 3 hours"),
    86_400: _("day by day"),
}
RANGES: Final = (
    Range("10m", _("10 min"), timedelta(minutes=10), 1),
    Range("1h", _("1 h"), timedelta(hours=1), 20),
    Range("6h", _("6 h"), timedelta(hours=6), 120),
    Range("24h", _("24 h"), timedelta(hours=24), 300),
    Range("7d", _("7 d"), timedelta(days=7), 3600),
    Range("30d", _("30 d"), timedelta(days=30), 10_800),
    Range("1y", _("1 year"), timedelta(days=365), 86_400),
)
DEFAULT: Final = RANGES[1]


@login_required_page
def instance_use(request: SignedInRequest, instance_id: str) -> HttpResponse:
    key = request.GET.get("range", DEFAULT.key)
    return JsonResponse(graphs_of(request.user, parse_public_id("inst", instance_id), key))


def graphs_of(renter: User, instance_id: UUID, key: str = DEFAULT.key) -> dict[str, Any]:
    """Return the times, the graphs over them, and the present use of each GPU."""
    chosen = next((one for one in RANGES if one.key == key), DEFAULT)
    instance = instance_of(renter, instance_id)
    now = clock.now()
    samples = metrics_of(instance, since=now - chosen.length, until=now, step_s=chosen.step_s)
    points = _with_gaps(samples, chosen.step_s)
    latest = latest_sample(instance)
    fresh = latest is not None and now - latest.at < timedelta(seconds=_LONGEST_GAP_S)
    return {
        "range": chosen.key,
        "at": [at for at, _sample in points],
        "graphs": _graphs(instance, [sample for _at, sample in points], chosen),
        "gpus": latest.gpus if latest is not None and fresh else [],
    }


Points = Sequence[Sample | None]


def _with_gaps(samples: Sequence[Sample], step_s: int) -> list[tuple[int, Sample | None]]:
    """Add a point without values in each gap, where the line breaks instead of covering unknown hours."""
    longest = max(3 * step_s, _LONGEST_GAP_S if step_s > 1 else 30)
    points: list[tuple[int, Sample | None]] = []
    for sample in samples:
        at = int(sample.at.timestamp())
        if points and at - points[-1][0] > longest:
            points.append((points[-1][0] + step_s, None))
        points.append((at, sample))
    return points


def _graphs(instance: Instance, points: Points, chosen: Range) -> list[dict[str, Any]]:
    cpu_millis = CPU_RUN_MILLIS if instance.cpu_only else instance.cpu_millis
    ram_mb = CPU_RUN_RAM_MB if instance.cpu_only else instance.ram_mb
    gpu = [_each(points, lambda one: one.gpu_util_pct)]
    if chosen.step_s > DEFAULT.step_s:
        gpu.append(_each(points, lambda one: one.gpu_util_max_pct))
    graphs: list[dict[str, Any]] = [
        {"name": "gpu", "unit": "%", "max": 100, "series": gpu},
        {
            "name": "vram",
            "unit": "GB",
            "max": instance.offer.vram_mb * instance.gpu_count / _MIB,
            "series": [_each(points, lambda one: one.vram_used_mb / _MIB)],
        },
        {"name": "power", "unit": "W", "least": 100, "series": [_each(points, lambda one: one.power_w)]},
        {"name": "temp", "unit": "°C", "max": 100, "series": [_each(points, lambda one: one.temperature_c)]},
        {
            "name": "cpu",
            "unit": "%",
            "max": 100,
            "series": [_each(points, lambda one: one.cpu_pct * _CORE_PCT / max(1, cpu_millis))],
        },
        {"name": "ram", "unit": "GB", "max": ram_mb / _MIB, "series": [_each(points, lambda one: one.ram_mb / _MIB)]},
    ]
    return graphs if chosen.step_s == 1 else [*graphs, *_of_reports(instance, points)]


def _of_reports(instance: Instance, points: Points) -> list[dict[str, Any]]:
    """Return the graphs of what is measured once per report instead of each second."""
    disk: dict[str, Any] = {"name": "disk", "unit": "GB", "series": [_each(points, lambda one: one.disk_mb / _MIB)]}
    disk |= {"max": instance.data_disk_gb} if instance.data_disk_gb else {}
    traffic = [_rates(points, "rx_bytes"), _rates(points, "tx_bytes")]
    network: dict[str, Any] = {"name": "net", "unit": "KB/s", "least": 10, "series": traffic}
    return [disk, network] if instance.data_disk_gb else [network]


def _each(points: Points, value: Callable[[Sample], float]) -> list[float | None]:
    return [None if one is None else round(float(value(one)), 3) for one in points]


def _rates(points: Points, name: str) -> list[float | None]:
    """Return kilobytes per second, from the bytes since the step before; None after a gap."""
    rates: list[float | None] = [None] if points else []
    for before, after in pairwise(points):
        if before is None or after is None or getattr(after, name) is None:
            rates.append(None)
            continue
        rates.append(getattr(after, name) / _KIB / max(1.0, (after.at - before.at).total_seconds()))
    return rates
