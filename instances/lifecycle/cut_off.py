"""Running instances that nobody can reach or use because of their host: it blocks connections, or pauses or limits them.

They are reported, counted as one fault for the run, and not charged meanwhile.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from billing.constants import INSTANCE_SOURCE, TERM_SOURCE
from billing.metering.meters import prove_meters
from billing.pricing.estimates import RESERVED
from common.errors import StaleRow
from common.ids import public_id
from common.messages.message import About, Name, stored
from common.messages.rendering import english
from instances.core.observations import ObservedRow
from instances.core.selectors import active_term
from instances.lifecycle.host_faults import record_cut_off_run
from instances.models import Alert, Instance
from instances.monitoring.alerts import close_by_report, raise_by_report
from instances.states import Desired, InstanceState
from marketplace.hosts.incidents import close_incident, open_incident

CODES: Final[Mapping[str, Alert.Kind]] = {
    "path_broken": Alert.Kind.PATH_BROKEN,
    "paused": Alert.Kind.PAUSED,
    "throttled": Alert.Kind.THROTTLED,
}
NO_BRIDGE: Final = timedelta(0)


def is_cut_off(instance: Instance, row: ObservedRow) -> bool:
    return _should_run(instance, row) and row.phase == "unknown" and row.failure_code in CODES


def is_newly_cut_off(instance: Instance, row: ObservedRow) -> bool:
    """Return whether it is cut off, and was not or for another reason."""
    return is_cut_off(instance, row) and (instance.cut_off_since is None or instance.cut_off_by != row.failure_code)


def use_is_unproven(instance: Instance, row: ObservedRow) -> bool:
    """Return whether the report leaves open that the renter could use the instance.

    That is so from being cut off until the report that it can be reached again.
    """
    return instance.cut_off_since is not None or is_cut_off(instance, row)


def is_reached_again(instance: Instance, row: ObservedRow) -> bool:
    return instance.cut_off_since is not None and _should_run(instance, row) and row.phase == "running"


def mark_cut_off(instance: Instance, row: ObservedRow, at: datetime) -> None:
    """Mark an instance as cut off.

    Its use is not proven from now on, until the agent reports that it is over.
    """
    code, before = row.failure_code, instance.cut_off_since
    same = Instance.objects.filter(pk=instance.pk, generation=instance.generation, cut_off_since=before)
    if not same.update(cut_off_since=before or at, cut_off_by=code):
        raise StaleRow("The instance moved meanwhile.")
    if before is not None:
        _close(instance, at)
    record_cut_off_run(instance, owner_id=instance.payee_id, at=at, detail=code)  # type: ignore[attr-defined]  # annotated by live_on_host
    why, name = english(row.detail), instance.host.name
    params = Name(name=name) if row.detail is None else About(name=name, what=row.detail)
    open_incident(kind=code, subject=public_id("inst", instance.pk), detail=params)
    raise_by_report(instance, CODES[code], {"why": why, "why_message": stored(row.detail)}, now=at)


def mark_reachable(instance: Instance, at: datetime) -> None:
    """Mark an instance as reachable; its use is proven from now on, and the time before is not bridged."""
    Instance.objects.filter(pk=instance.pk).update(**no_longer_cut_off(instance, at))


def no_longer_cut_off(instance: Instance, at: datetime) -> dict[str, Any]:
    """Return the columns of an instance that is reachable again or no longer runs.

    Its incident and alert are closed, and the time until `at` is not bridged.
    """
    if instance.cut_off_since is None:
        return {}
    prove_meters(source_kind=INSTANCE_SOURCE, source_ids=[instance.pk], at=at, bridge=NO_BRIDGE)
    term = active_term(instance.pk) if instance.billing_mode == RESERVED else None
    if term is not None:
        prove_meters(source_kind=TERM_SOURCE, source_ids=[term.pk], at=at, bridge=NO_BRIDGE)
    _close(instance, at)
    return {"cut_off_since": None, "cut_off_by": ""}


def _close(instance: Instance, at: datetime) -> None:
    """Close the incident and the alert of why it was cut off until now."""
    code = instance.cut_off_by or "path_broken"  # rows of before the column
    close_incident(kind=code, subject=public_id("inst", instance.pk))
    close_by_report(instance, CODES[code], now=at)


def _should_run(instance: Instance, row: ObservedRow) -> bool:
    wanted = instance.state == InstanceState.RUNNING and instance.desired == Desired.RUNNING
    return wanted and row.generation == instance.run_generation
