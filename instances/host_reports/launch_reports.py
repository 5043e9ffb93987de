"""What a report says of start scripts and readiness checks."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from common.db.transactions import use_case
from instances.core.observations import ObservedRow
from instances.core.selectors import live_on_host
from instances.core.transitions import HOST, record_event, touch_renter
from instances.launch.status import OVER, StatusRow, changed_statuses, store_status
from instances.models import Instance, LaunchStatus


def record_launch_reports(*, host_id: UUID, rows: Sequence[ObservedRow], at: datetime) -> None:
    """Store what changed of start scripts and readiness, each instance in a transaction of its own.

    The common report, in which no instance has either, costs no query.
    """
    watched = {row.id: row for row in rows if row.on_start is not None or row.ready}
    if not watched:
        return
    live = live_on_host(host_id)
    present = {
        key: (row.generation, _status(row))
        for key, row in watched.items()
        if key in live and live[key].launch_id is not None and live[key].run_generation == row.generation
    }
    for key, before in changed_statuses(present).items():
        with use_case():
            _record(live[key], present[key][1], before, at)


def _status(row: ObservedRow) -> StatusRow:
    script = row.on_start
    return StatusRow("" if script is None else script.state, None if script is None else script.exit_code, row.ready)


def _record(instance: Instance, row: StatusRow, before: LaunchStatus | None, at: datetime) -> None:
    if store_status(instance, row, before=before, at=at):
        record_event(instance, kind="ready", actor=HOST)
    same_run = before is not None and before.generation == instance.run_generation
    known = same_run and before is not None and before.on_start in OVER
    if row.exit_code and not known:
        record_event(instance, kind="on_start_failed", actor=HOST)
    touch_renter(instance)
