"""Measured speeds of a host: each measurement stored once, and on the host the median of the last few."""

from datetime import UTC, datetime
from statistics import median

from common import clock
from marketplace.constants import MEASUREMENTS_COUNTED, MEASUREMENTS_KEPT
from marketplace.hosts.inventory import ReportedHost
from marketplace.models import Host, Measurement
from marketplace.states import MeasurementKind


def record_measurements(*, host: Host, shape: ReportedHost) -> None:
    """Store new measurements in the host's facts.

    The caller has locked the host and refreshes its offers.
    """
    found = (
        (MeasurementKind.DISK, shape.disk_measured_at, shape.disk_read_mbps, shape.disk_write_mbps),
        (MeasurementKind.NETWORK, shape.net_measured_at, shape.net_down_mbps, shape.net_up_mbps),
    )
    for kind, stamp, in_mbps, out_mbps in found:
        if stamp is not None and in_mbps is not None and out_mbps is not None:
            _record(host, kind, stamp, in_mbps, out_mbps)


def _record(host: Host, kind: MeasurementKind, stamp: int, in_mbps: int, out_mbps: int) -> None:
    speeds = {"at": _moment(host, stamp), "in_mbps": in_mbps, "out_mbps": out_mbps}
    _, fresh = Measurement.objects.get_or_create(host=host, kind=kind, stamp=stamp, defaults=speeds)
    if not fresh:
        return
    own = Measurement.objects.filter(host=host, kind=kind).order_by("-at", "-id")
    own.filter(pk__in=list(own.values_list("pk", flat=True)[MEASUREMENTS_KEPT:])).delete()
    last = list(own[:MEASUREMENTS_COUNTED])
    ins, outs = round(median(row.in_mbps for row in last)), round(median(row.out_mbps for row in last))
    if kind == MeasurementKind.DISK:
        host.disk_read_mbps, host.disk_write_mbps = ins, outs
        host.disk_measured_at, host.disk_samples = last[0].at, len(last)
        host.save(update_fields=["disk_read_mbps", "disk_write_mbps", "disk_measured_at", "disk_samples"])
    else:
        host.net_down_mbps, host.net_up_mbps = ins, outs
        host.net_measured_at, host.net_samples = last[0].at, len(last)
        host.save(update_fields=["net_down_mbps", "net_up_mbps", "net_measured_at", "net_samples"])


def _moment(host: Host, stamp: int) -> datetime:
    """Return a measurement's time, at least the enrolment and at most now.

    An agent's clock may be wrong.
    """
    present = clock.now()
    earliest, latest = host.enrolled_at.timestamp(), present.timestamp()
    return datetime.fromtimestamp(min(max(stamp, earliest), latest), UTC)
