"""The agent's sync: apply the report of a host and answer with its desired state."""

import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import connection

from agents.gateway.constants import HOW_TO_GO_ON, REPORT_INTERVAL_S, TICKET_LIFETIME
from agents.gateway.converters import (
    absent_ids,
    common_version,
    desired_instances,
    disk_use_rows,
    gpu_event_rows,
    host_shape,
    observed_rows,
    operation_ids,
    operation_orders,
    operation_rows,
    prefetch_images,
    pull_rows,
    read_report,
    self_test_row,
)
from agents.gateway.errors import Revoked, TwoAgents
from agents.gateway.incident_messages import TwoAgentsSeen, TwoAgentsToResolve
from agents.gateway.request_parsing import SignedMessage
from agents.gateway.selectors import Sender, authentic_sender, standing_of
from agents.gateway.services.audit import record_foreign, record_refusal
from agents.gateway.services.epochs import check_epoch
from agents.gateway.services.identities import admit_message, record_facts_sent
from agents.gateway.services.tunnels import link_address, link_ticket, tunnels_of
from agents.protocol.messages import DesiredState, Report
from agents.protocol.tickets import sign_ticket
from billing.constants import PROOF_BRIDGE
from common import clock
from common.change_counters import version_of
from common.errors import Busy, DomainError, InvalidInput
from common.ids import public_id
from instances.core.observations import ObservedRow
from instances.core.wakeup_payloads import early_order_key
from instances.enforcement.leftovers import record_removed
from instances.enforcement.silent_hosts import pause_on_silent_hosts
from instances.host_reports.launch_reports import record_launch_reports
from instances.host_reports.operation_results import apply_results
from instances.host_reports.reconcile import observe_report
from instances.monitoring.alerts import record_gpu_events
from instances.transfers.selectors import desired_on_host
from instances.volumes.usage import record_disk_usage
from marketplace.hosts.hosts import freeze_host, record_facts, record_refused_parts, record_report
from marketplace.hosts.incidents import close_incident, open_incident
from marketplace.self_tests.services import record_self_test
from marketplace.sweep_runs import check_sweeps
from storage.images.pull_progress import record_pulls
from storage.images.selectors import images_to_prefetch
from storage.operations.selectors import desired_operations
from storage.operations.services import record_operations

logger = logging.getLogger(__name__)

AGENT = "agent"
_FACTS = "Report.facts"


_KEY_BITS = 64


@contextmanager
def host_sync_lock(host_id: UUID) -> Iterator[None]:
    """Hold the host's lock for a sync, or raise Busy at once: a web worker must not wait for another.

    A report is applied in several short transactions, hence an advisory lock of the database session. It ends with
    the block, and with the session when this process dies. (A pooler in transaction mode would break it.)

    Raises:
        Busy: Another sync of this host is being handled.
    """
    key = int.from_bytes(host_id.bytes[-_KEY_BITS // 8 :], signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [key])
        if not cursor.fetchone()[0]:
            raise Busy("The last sync of this host is still being processed.")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [key])


def sync_host(*, message: SignedMessage, received_at: datetime, remote_address: str, wait_url: str) -> DesiredState:
    """Apply a host's report, once and in order, and return what the host should run.

    Holds the host's sync lock (`host_sync_lock`) throughout; each step commits by itself.

    Raises:
        Busy: Another sync of this host is being handled.
        TwoAgents: A second agent uses this identity; the host has been frozen.
        Revoked: The agent's key was revoked, or the host written off, while the report was handled.
    """
    sender = authentic_sender(message)
    host_id = sender.host_id
    report, refused = read_report(message.body)
    protocol = common_version(report.versions)
    rows = observed_rows(report.instances)
    tested = None if report.self_test is None else self_test_row(report.self_test)
    with host_sync_lock(host_id):
        if not admit_message(host_id=host_id, envelope=message.envelope, received_at=received_at):
            _freeze(host_id)
            raise TwoAgents()
        _store_facts(host_id, report, refused, remote_address)
        if refused:
            record_refused_parts(host_id=host_id, parts=refused)
        if received_at - sender.last_seen_at > PROOF_BRIDGE:
            pause_on_silent_hosts(now=received_at, host_id=host_id)
        _record_report(host_id, report, received_at)
        if tested is not None:
            record_self_test(host_id=host_id, row=tested, agent_version=report.agent_version, at=received_at)
        absent: Sequence[UUID] = ()
        if check_epoch(sender=sender, report=report, rows=rows, at=received_at):
            absent = absent_ids(report.absent)
            _apply_observations(host_id, report, rows, absent=absent, received_at=received_at, remote_address=remote_address)
            _close_foreign(sender, report)
        check_sweeps(now=received_at)
        held = operation_ids(report.operations)
        desired = _desired_state(host_id, protocol, wait_url, sender.market_epoch, absent, held=held)
        # Only with facts, which come at the agent's start and now and then: so most syncs need no further query.
        return desired if report.facts is None else replace(desired, images=prefetch_images(images_to_prefetch()))


def _apply_observations(
    host_id: UUID,
    report: Report,
    rows: Sequence[ObservedRow],
    *,
    absent: Sequence[UUID],
    received_at: datetime,
    remote_address: str,
) -> None:
    """Apply what the report, which is of the present epoch, says of instances, operations and disks."""
    foreign = observe_report(host_id=host_id, rows=rows, absent=absent, foreign=report.foreign, at=received_at)
    record_launch_reports(host_id=host_id, rows=rows, at=received_at)
    record_pulls(host_id=host_id, rows=pull_rows(rows, foreign), at=received_at)
    if report.gpu_events:
        record_gpu_events(host_id=host_id, rows=gpu_event_rows(report.gpu_events), at=received_at)
    ended = record_operations(host_id=host_id, rows=operation_rows(report.operations), at=received_at)
    if ended:
        apply_results(only=ended)
    if report.disks:
        record_disk_usage(host_id=host_id, rows=disk_use_rows(report.disks), at=received_at)
    if foreign:
        names = [instance_id.hex for instance_id in foreign]
        record_foreign(claimed_host=host_id.hex, foreign=names, remote_address=remote_address)


def _close_foreign(sender: Sender, report: Report) -> None:
    """Close the incident about unknown containers once the host's engine, asked just now, has none."""
    if sender.has_foreign and not report.foreign and report.engine_age_s == 0:
        close_incident(kind="foreign_container", subject=public_id("host", sender.host_id), closed_by="removed")


def _freeze(host_id: UUID) -> None:
    """Freeze the host and alert staff, who must decide which of the two agents is legitimate (fault 20)."""
    freeze_host(host_id=host_id, reason="two agents", detail=TwoAgentsSeen(), actor=AGENT)
    open_incident(kind="two_agents", subject=public_id("host", host_id), detail=TwoAgentsToResolve())


def _record_report(host_id: UUID, report: Report, at: datetime) -> None:
    """Record that the host reported.

    Raises:
        Revoked: Its agent's key was revoked, or the host written off, while this report was handled.
    """
    is_recorded = record_report(host_id=host_id, at=at, engine_age_s=report.engine_age_s, agent_version=report.agent_version)
    if not is_recorded:
        raise Revoked(HOW_TO_GO_ON)


def _store_facts(host_id: UUID, report: Report, refused: Sequence[str], remote_address: str) -> None:
    """Store the facts of a host; impossible facts are refused alone, the rest of the report counts.

    Refused facts count as sent. If they were requested again at once, they would be the same, and the agent would
    sync without end.
    """
    of_facts = [line for line in refused if line.startswith(_FACTS)]
    if report.facts is None and not of_facts:
        return
    try:
        if report.facts is None:
            raise InvalidInput(of_facts[-1])
        record_facts(host_id=host_id, shape=host_shape(report.facts))
    except DomainError as error:
        record_refusal(
            claimed_host=host_id.hex,
            reason=error.code,
            detail=str(error.detail),
            remote_address=remote_address,
            by_stranger=False,
        )
    record_facts_sent(host_id=host_id)


def _desired_state(
    host_id: UUID, protocol: int, wait_url: str, epoch: int, absent: Sequence[UUID], *, held: Collection[UUID]
) -> DesiredState:
    topic = f"host:{host_id.hex}"
    version = version_of(topic)  # read before the state: a change in between then ends the next wait at once
    standing = standing_of(host_id)
    if standing.leftovers_of:
        record_removed(host_id=host_id, former=standing.leftovers_of, absent=absent)
    rows = desired_on_host(host_id, mounts=standing.has_mounts, moves=standing.has_moves, former=standing.leftovers_of)
    expires_at = int((clock.now() + TICKET_LIFETIME).timestamp())
    return DesiredState(
        protocol=protocol,
        version=version,
        wait_url=wait_url,
        wait_ticket=sign_ticket(settings.RELAY_SECRET, topic=topic, expires_at=expires_at),
        instances=desired_instances(rows),
        report_interval_s=REPORT_INTERVAL_S,
        need_facts=not standing.facts_known,
        frozen=standing.frozen,
        self_test=standing.self_test.hex if standing.self_test else "",
        slip_key=early_order_key(host_id, standing.agent_keys).hex(),
        operations=operation_orders(desired_operations(host_id, held)) if standing.has_operations else [],
        now=int(clock.now().timestamp()),
        link_url="" if standing.frozen else link_address(wait_url),
        link_ticket=link_ticket(host_id),
        epoch=epoch,
        tunnels=tunnels_of(host_id, rows) if standing.behind_nat else [],
    )
