"""Rows of an earnings report in one grouping, with the names of hosts, GPUs and offers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from common.ids import public_id
from instances.earnings.allocation import EarningsSum
from instances.earnings.report import GpuKey, Report
from marketplace.hosts.selectors import HostName, host_names, offer_models


@dataclass(frozen=True)
class EarningRow:
    """One row: what earned it, and the sum; only the columns of its grouping are set."""

    sum: EarningsSum
    day: date | None = None
    host_id: UUID | None = None
    host_name: str = ""
    offer_id: UUID | None = None
    instance_id: UUID | None = None
    gpu_uuid: str = ""
    gpu_model: str = ""

    @property
    def key(self) -> str:
        """Return the row's key in the API and the CSV."""
        if self.day is not None:
            return self.day.isoformat()
        for prefix, found in (("inst", self.instance_id), ("offr", self.offer_id)):
            if found is not None:
                return public_id(prefix, found)
        return self.gpu_uuid or (public_id("host", self.host_id) if self.host_id else "")


def rows_by(report: Report, grouping: str) -> list[EarningRow]:
    """Return the rows of a grouping: days and months newest first, others by their net."""
    names = host_names(sorted({each.host_id for each in report.pieces if each.host_id is not None}))
    match grouping:
        case "day" | "month":
            sums = report.by_day() if grouping == "day" else report.by_month()
            return [EarningRow(found, day=day) for day, found in sorted(sums.items(), reverse=True)]
        case "gpu":
            return _best([_gpu_row(key, found, names) for key, found in report.by_gpu().items()])
        case "host":
            return _best([_host_row(host_id, found, names) for host_id, found in report.by_host().items()])
        case "offer":
            return _best(_offer_rows(report, names))
        case _:
            return _best(_instance_rows(report, names))


def _gpu_row(key: GpuKey, found: EarningsSum, names: Mapping[UUID, HostName]) -> EarningRow:
    row = _host_row(key.host_id, found, names)
    return EarningRow(found, host_id=row.host_id, host_name=row.host_name, gpu_uuid=key.gpu_uuid, gpu_model=key.gpu_model)


def _host_row(host_id: UUID | None, found: EarningsSum, names: Mapping[UUID, HostName]) -> EarningRow:
    return EarningRow(found, host_id=host_id, host_name=_name(host_id, names))


def _name(host_id: UUID | None, names: Mapping[UUID, HostName]) -> str:
    return names[host_id].name if host_id is not None and host_id in names else ""


def _offer_rows(report: Report, names: Mapping[UUID, HostName]) -> list[EarningRow]:
    places = [each.place for each in report.pieces if each.place]
    hosts = {place.offer_id: place.host_id for place in places if place.offer_id is not None}
    models = offer_models(sorted(hosts))
    return [
        EarningRow(
            found,
            offer_id=offer_id,
            gpu_model=models.get(offer_id, "") if offer_id else "",
            host_id=hosts[offer_id] if offer_id else None,
            host_name=names[hosts[offer_id]].name if offer_id else "",
        )
        for offer_id, found in report.by_offer().items()
    ]


def _instance_rows(report: Report, names: Mapping[UUID, HostName]) -> list[EarningRow]:
    hosts = {each.place.instance_id: each.place.host_id for each in report.pieces if each.place}
    return [
        EarningRow(
            found,
            instance_id=instance_id,
            host_id=hosts[instance_id] if instance_id else None,
            host_name=names[hosts[instance_id]].name if instance_id else "",
        )
        for instance_id, found in report.by_instance().items()
    ]


def _best(rows: list[EarningRow]) -> list[EarningRow]:
    return sorted(rows, key=lambda row: (-row.sum.net_micros, row.key))
