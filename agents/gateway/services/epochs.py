"""Epochs in the sync: which reports belong to the present one, and how agents agree to a new one."""

from collections.abc import Sequence
from datetime import datetime

from agents.gateway.converters import held_rows
from agents.gateway.incident_messages import EpochAhead, EpochImpossible
from agents.gateway.selectors import Sender
from agents.protocol.messages import Report
from common.ids import public_id
from instances.core.observations import ObservedRow
from instances.epochs.services import HeldRow, quarantine_unknown, reconcile_with_host
from marketplace.hosts.epochs import FURTHEST_AHEAD, quarantined_gpus
from marketplace.hosts.incidents import open_incident

BEHIND = "market_behind_its_hosts"


def check_epoch(*, sender: Sender, report: Report, rows: Sequence[ObservedRow], at: datetime) -> bool:
    """Return whether the report belongs to the market's present epoch and so counts.

    If the host still has to agree to a new epoch, this records its agreement. An agent that knows no epochs agrees
    with its first report, by the instances that it reports.
    """
    if report.epoch is not None and report.epoch > sender.market_epoch:
        is_false = report.epoch > (at + FURTHEST_AHEAD).timestamp()
        theirs, ours, command = report.epoch, sender.market_epoch, f"manage.py begin_epoch --above {report.epoch}"
        ahead = EpochAhead(theirs=theirs, ours=ours, command=command)
        detail = EpochImpossible(theirs=theirs, ours=ours) if is_false else ahead
        open_incident(kind=BEHIND, subject=public_id("host", sender.host_id), detail=detail)
        return False
    if report.epoch is not None and report.epoch < sender.market_epoch:
        return False  # the answer names the epoch, and the agent's next report will belong to it
    held = held_rows(report.holdings)
    if sender.awaits_epoch:
        reconcile_with_host(host_id=sender.host_id, held=_reported(rows) if report.epoch is None else held, at=at)
    elif report.epoch is not None and (held or sender.has_quarantine):
        quarantine_unknown(host_id=sender.host_id, held=held, quarantined=quarantined_gpus(sender.host_id))
    return True


def _reported(rows: Sequence[ObservedRow]) -> list[HeldRow]:
    stopped = ("stopped", "stopping")
    return [
        HeldRow(row.id, row.generation, 0, "stopped" if row.phase in stopped else "running", row.gpu_uuids) for row in rows
    ]
