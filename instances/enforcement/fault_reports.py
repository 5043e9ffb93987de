"""Reports of renters that an instance does not work although its host says that it runs.

The charges stop, and staff decide. An agent is its owner's program and may report falsely, so what it earns by that
is held back until the decision.
"""

from typing import Final
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.selectors import acts_as_staff
from billing.constants import INSTANCE_SOURCE, TERM_SOURCE
from billing.metering.escrow import lock_parties
from billing.metering.meters import cap_meter
from billing.payouts.payouts import hold_back, release_holdback
from billing.pricing.estimates import RESERVED
from common import clock
from common.db.transactions import use_case
from common.errors import Forbidden, IllegalTransition, NotFound, wrong_field
from common.ids import public_id
from common.messages.message import About, Quoted, RenterSays
from common.printable import check_printable
from instances.core.selectors import all_terms_of, instance_of
from instances.core.transitions import RENTER, SYSTEM, record_event, retry_stale
from instances.lifecycle.host_faults import record_refund, refund_run
from instances.lifecycle.meter_closing import resume_term_of_failed
from instances.lifecycle.stop import stop_now
from instances.metering.reserved_terms import pause_term, payee_of
from instances.models import FaultReport, Instance
from instances.states import InstanceState, ReportVerdict
from marketplace.hosts.incidents import close_incident, open_incident
from marketplace.reliability.events import record_host_fault

INCIDENT: Final = "fault_report"
NOT_WORKING: Final = "not_working"
_DETAIL_CHARS: Final = 300
_RUNS: Final = (InstanceState.RUNNING, InstanceState.RESTARTING)


def report_fault(*, renter: User, instance_id: UUID, detail: str) -> Instance:
    """Stop an instance and hold its host's earnings from it back until staff decide.

    Nothing is charged after this moment. A reserved term is paused, unless an earlier report of it was rejected.
    Raises NotFound, InvalidInput, or IllegalTransition when it does not run.
    """
    detail = detail.strip()
    if not 1 <= len(detail) <= _DETAIL_CHARS:
        raise wrong_field("detail", _("Describe the problem in up to %(most)s characters.") % {"most": _DETAIL_CHARS})
    check_printable("detail", detail)

    def attempt() -> Instance:
        instance = instance_of(renter, instance_id)
        if instance.state not in _RUNS or instance.started_at is None:
            raise IllegalTransition(
                f"An instance that is {instance.state} costs nothing for its use: only one that runs can be reported.",
                state=instance.state,
                actions=instance.actions,
            )
        began_at, run = instance.started_at, instance.run_generation
        owner = payee_of(instance)
        if instance.billing_mode == RESERVED:
            lock_parties(renter_id=instance.renter_id, host_owner_id=owner)
            if not _was_rejected(instance):
                pause_term(instance)
        cap_meter(source_kind=INSTANCE_SOURCE, source_id=instance.pk, at=clock.now())
        for kind, source in _sources(instance):
            hold_back(owner_id=owner, source_kind=kind, source_id=source)
        stop_now(instance, kind="fault_reported", actor=RENTER, detail=RenterSays(words=Quoted(detail)))
        FaultReport.objects.create(instance=instance, run_generation=run, detail=detail, began_at=began_at)
        words = RenterSays(words=Quoted(detail))
        params = About(name=instance.host.name, what=words)
        open_incident(kind=INCIDENT, subject=public_id("inst", instance.pk), detail=params)
        return instance

    with use_case():
        return retry_stale(attempt)


def decide_report(*, staff: User, report_id: UUID, upheld: bool) -> FaultReport:
    """Decide a report for the renter (`upheld`) or for the host; a decision is final.

    If upheld, the end of the run is refunded as for any fault of a host. The host's earnings are released in either
    case, less the refund. Raises Forbidden for a decision in one's own favour.
    """
    if not acts_as_staff(staff):
        raise Forbidden("Only Berth staff can decide on reports.")
    with use_case():
        report = FaultReport.objects.select_for_update(of=("self",), no_key=True).filter(pk=report_id).first()
        if report is None:
            raise NotFound("This report doesn't exist.")
        if report.verdict != ReportVerdict.OPEN:
            return report
        instance = Instance.objects.select_related("host").get(pk=report.instance_id)
        _check_party(staff, instance, upheld=upheld)
        if instance.state not in (InstanceState.STOPPED, InstanceState.FAILED, InstanceState.GONE):
            raise IllegalTransition("The host has not confirmed the stop yet; the cost of the run is known only then.")
        if upheld:
            if instance.billing_mode == RESERVED and instance.state != InstanceState.GONE:
                lock_parties(renter_id=instance.renter_id, host_owner_id=payee_of(instance))
                pause_term(instance)  # an earlier report that was rejected has left it running
            _refund(report, instance)
        is_last = not _open_reports(instance).exclude(pk=report.pk).exists()
        if is_last:
            _release_earnings(instance, upheld=upheld, by=staff)
        report.verdict = ReportVerdict.UPHELD if upheld else ReportVerdict.REJECTED
        report.decided_by, report.closed_at = staff, clock.now()
        report.save(update_fields=["verdict", "decided_by", "closed_at"])
        record_event(instance, kind=f"report_{report.verdict}", actor=SYSTEM)
    return report


def _check_party(staff: User, instance: Instance, *, upheld: bool) -> None:
    """Refuse a decision in the staff member's own favour, as renter or as host owner."""
    if staff.pk == (instance.renter_id if upheld else instance.host.owner_id):
        raise Forbidden("You would benefit from this decision; another staff member has to make it.")


def _open_reports(instance: Instance) -> QuerySet[FaultReport]:
    return FaultReport.objects.filter(instance=instance, verdict=ReportVerdict.OPEN)


def _was_rejected(instance: Instance) -> bool:
    """Return whether an earlier report of the instance was rejected.

    A renter could otherwise keep the GPUs with one report after another, without paying for the term.
    """
    return FaultReport.objects.filter(instance=instance, verdict=ReportVerdict.REJECTED).exists()


def _release_earnings(instance: Instance, *, upheld: bool, by: User) -> None:
    """Release the host's earnings and close the incident once no report of the instance is open.

    A reserved term that keeps its GPUs goes on, unless the host was to blame: then it stays paused until the renter
    starts the instance.
    """
    for kind, source in _sources(instance):
        release_holdback(source_kind=kind, source_id=source)
    close_incident(kind=INCIDENT, subject=public_id("inst", instance.pk), closed_by=by.email)
    if not upheld and instance.billing_mode == RESERVED and instance.state == InstanceState.STOPPED:
        lock_parties(renter_id=instance.renter_id, host_owner_id=payee_of(instance))
        resume_term_of_failed(instance, at=clock.now())


def _refund(report: FaultReport, instance: Instance) -> None:
    given_back = refund_run(
        instance, run=report.run_generation, since=report.began_at, until=report.opened_at, code=NOT_WORKING
    )
    record_refund(instance, given_back)
    if instance.renter_id != instance.host.owner_id:
        record_host_fault(host_id=instance.host_id, subject=report.pk, at=report.opened_at, detail=NOT_WORKING)


def _sources(instance: Instance) -> list[tuple[str, UUID]]:
    """Return the sources that its use was charged to: the instance and its terms."""
    return [(INSTANCE_SOURCE, instance.pk), *((TERM_SOURCE, term.pk) for term in all_terms_of([instance.pk]))]
