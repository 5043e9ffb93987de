"""An agent that says "running" when nothing runs (fault 87): its renter stops the bill, and its payout waits for staff."""

import json
from datetime import timedelta

import pytest
from django.test import Client

from accounts.models import User
from billing.constants import PAYOUT_HOLDING
from billing.metering.settle import settle_meters
from billing.models import Entry
from billing.payouts.selectors import payable_of
from common import clock
from common.errors import Forbidden, IllegalTransition
from instances.core.observations import ObservedRow
from instances.enforcement.fault_reports import decide_report, report_fault
from instances.lifecycle.start import start_instance
from instances.metering.findings import metering_findings
from instances.models import FaultReport, Instance, Term
from marketplace.models import Incident, ReliabilityEvent
from tests.billing.money import assert_sound, charged, pay_in, wallet
from tests.instances.fake_host import FakeHost, FakeReport, order, refused, reload
from tests.instances.fixtures import Clock
from tests.instances.modes import pass_time, running, sell
from tests.panels.test_write_off import signed_in

HOUR = 3_600_000


def lies(host: FakeHost, instance: Instance) -> None:
    """The agent reports what is not there: it has no container at all."""
    row = ObservedRow(instance.pk, reload(instance).run_generation, "running", tuple(instance.gpu_uuids), container="c0ffee")
    host.deliver(FakeReport((row,), ()))


@pytest.fixture
def pretended(rin: User, host: FakeHost, hours: Clock) -> Instance:
    """Half an hour of an instance that never ran."""
    pay_in(rin, 1000 * 1_000_000)
    instance = order(rin, host)
    lies(host, instance)
    for _ in range(30):
        hours.advance(minutes=1)
        lies(host, instance)
    assert host.running() == set()
    return reload(instance)


def test_fault_087_the_report_stops_the_bill_whatever_the_agent_says(
    rin: User, host: FakeHost, pretended: Instance, hours: Clock
) -> None:
    report_fault(renter=rin, instance_id=pretended.pk, detail="Nothing answers at its port.")
    hours.advance(seconds=5)
    lies(host, pretended)  # within the grace, which any other stop costs
    for _ in range(60):
        hours.advance(minutes=1)
        lies(host, pretended)
    settle_meters(now=clock.now())
    assert charged(pretended.pk) <= HOUR // 2
    assert reload(pretended).state == "stopping"
    incident = Incident.objects.get(kind="fault_report")
    assert "Nothing answers" in incident.detail
    assert metering_findings() == []
    assert_sound()


def test_fault_087_what_it_earned_is_not_paid_out_until_staff_decide(
    rin: User, stella: User, host: FakeHost, pretended: Instance, hours: Clock
) -> None:
    hana = host.owner
    report_fault(renter=rin, instance_id=pretended.pk, detail="Nothing answers at its port.")
    host.sync()
    host.settle()
    assert reload(pretended).state == "stopped"
    settle_meters(now=clock.now())
    hours.advance(seconds=(PAYOUT_HOLDING + timedelta(hours=1)).total_seconds())
    share = wallet(hana, "host").balance_micros
    assert share > 0
    found = payable_of(owner_id=hana.pk, now=clock.now())
    assert (found.reported_micros, found.payable_micros) == (share, 0)
    report = FaultReport.objects.get()
    decide_report(staff=stella, report_id=report.pk, upheld=True)
    assert wallet(hana, "host").balance_micros == 0, "the whole half hour went back"
    assert wallet(rin).spendable_micros >= 1000 * 1_000_000
    assert ReliabilityEvent.objects.filter(kind="host_fault", detail="not_working").count() == 1
    assert not Incident.objects.filter(kind="fault_report", closed_at=None).exists()
    decide_report(staff=stella, report_id=report.pk, upheld=False)
    assert FaultReport.objects.get().verdict == "upheld", "decided once, it stays so"
    assert_sound()


def test_an_honest_host_keeps_what_it_earned(
    rin: User, stella: User, host: FakeHost, pretended: Instance, hours: Clock
) -> None:
    hana = host.owner
    report_fault(renter=rin, instance_id=pretended.pk, detail="I don't like it.")
    host.sync()
    host.settle()
    settle_meters(now=clock.now())
    hours.advance(seconds=(PAYOUT_HOLDING + timedelta(hours=1)).total_seconds())
    decide_report(staff=stella, report_id=FaultReport.objects.get().pk, upheld=False)
    assert payable_of(owner_id=hana.pk, now=clock.now()).reported_micros == 0
    assert wallet(hana, "host").balance_micros > 0
    assert not ReliabilityEvent.objects.filter(kind="host_fault").exists()


def test_a_term_is_paused_by_it(rin: User, host: FakeHost, hours: Clock) -> None:
    sell(host)
    instance = running(rin, host, "reserved", term="week")
    hours.advance(minutes=1)
    host.sync()
    report_fault(renter=rin, instance_id=instance.pk, detail="It hangs.")
    host.settle()
    assert reload(instance).state == "stopped"
    assert_sound()


def test_refusals(rin: User, hana: User, host: FakeHost, pretended: Instance) -> None:
    report_fault(renter=rin, instance_id=pretended.pk, detail="Dead.")
    with refused(), pytest.raises(IllegalTransition):
        report_fault(renter=rin, instance_id=pretended.pk, detail="Dead.")
    with pytest.raises(Forbidden):
        decide_report(staff=hana, report_id=FaultReport.objects.get().pk, upheld=True)


def test_staff_who_rent_or_own_it_decide_against_themselves_alone(
    rin: User, hana: User, host: FakeHost, pretended: Instance
) -> None:
    stopped_by_report(rin, host, pretended)
    User.objects.filter(pk__in=[rin.pk, hana.pk]).update(is_staff=True)
    report = FaultReport.objects.get()
    for staff, upheld in ((rin, True), (hana, False)):
        staff.refresh_from_db()
        with refused(), pytest.raises(Forbidden, match="would benefit"):
            decide_report(staff=staff, report_id=report.pk, upheld=upheld)
    assert decide_report(staff=hana, report_id=report.pk, upheld=True).verdict == "upheld"
    assert_sound()


def test_by_the_api_and_decided_in_the_panel(
    rin: User, stella: User, host: FakeHost, pretended: Instance, sign: object
) -> None:
    client: Client = sign(rin)  # type: ignore[operator]  # the fixture's function
    path = f"/api/v1/instances/inst_{pretended.pk.hex}/report-fault"
    reply = client.post(path, json.dumps({"detail": "Nothing answers."}), content_type="application/json")
    assert (reply.status_code, reply.json()["state"]) == (202, "stopping")
    host.sync()
    host.settle()
    staff = signed_in(stella)
    chosen = {"action": "uphold", "_selected_action": str(FaultReport.objects.get().pk)}
    assert staff.post("/admin/instances/faultreport/", chosen).status_code == 302
    assert FaultReport.objects.get().verdict == "upheld"


def test_by_the_console(rin: User, mallory: User, host: FakeHost, pretended: Instance) -> None:
    path = f"/instances/inst_{pretended.pk.hex}"
    client = Client()
    client.force_login(mallory)
    assert client.post(f"{path}/report", {"detail": "Mine?"}).status_code == 404
    client.force_login(rin)
    assert 'id="report"' in client.get(path).content.decode()
    client.post(f"{path}/report", {"detail": "Nothing answers."})
    assert reload(pretended).state == "stopping"
    assert FaultReport.objects.get().detail == "Nothing answers."


# -- what a greedy renter would make of it


def stopped_by_report(renter: User, host: FakeHost, instance: Instance, detail: str = "It hangs.") -> None:
    report_fault(renter=renter, instance_id=instance.pk, detail=detail)
    host.settle()
    assert reload(instance).state == "stopped"


def test_a_run_after_an_undecided_report_can_be_reported_too(
    rin: User, stella: User, host: FakeHost, pretended: Instance, hours: Clock
) -> None:
    """Each run has its report; what the host earned waits for the last of them."""
    hana = host.owner
    stopped_by_report(rin, host, pretended)
    start_instance(renter=rin, instance_id=pretended.pk)
    host.settle()
    hours.advance(minutes=1)
    host.sync()
    stopped_by_report(rin, host, pretended, "It hangs again.")
    settle_meters(now=clock.now())
    hours.advance(seconds=(PAYOUT_HOLDING + timedelta(hours=1)).total_seconds())
    first, second = FaultReport.objects.order_by("opened_at")
    decide_report(staff=stella, report_id=first.pk, upheld=False)
    found = payable_of(owner_id=hana.pk, now=clock.now())
    assert (found.reported_micros, found.payable_micros) == (wallet(hana, "host").balance_micros, 0)
    assert Incident.objects.filter(kind="fault_report", closed_at=None).count() == 1
    decide_report(staff=stella, report_id=second.pk, upheld=True)
    assert payable_of(owner_id=hana.pk, now=clock.now()).reported_micros == 0
    assert not Incident.objects.filter(kind="fault_report", closed_at=None).exists()
    assert_sound()


@pytest.fixture
def term(rin: User, host: FakeHost, hours: Clock) -> Term:
    """A week that was paid upfront, and has run for an hour."""
    sell(host)
    instance = running(rin, host, "reserved", term="week")
    pass_time(host, hours, 3600)
    return Term.objects.get(instance=instance)


def test_a_term_goes_on_when_its_report_is_rejected(
    rin: User, stella: User, host: FakeHost, hours: Clock, term: Term
) -> None:
    """It keeps its GPUs all the while: else a false report would reserve them for the rest of the term, for nothing."""
    stopped_by_report(rin, host, term.instance)
    assert reload(term.instance).holds_gpus
    before = charged(term.pk)
    pass_time(host, hours, 3600)
    assert charged(term.pk) == before, "nothing while nobody has decided"
    decide_report(staff=stella, report_id=FaultReport.objects.get().pk, upheld=False)
    pass_time(host, hours, 2 * 3600)
    assert charged(term.pk) == before + 2 * term.unit_micros
    assert_sound()


def test_a_term_whose_report_is_upheld_waits_for_its_renter(
    rin: User, stella: User, host: FakeHost, hours: Clock, term: Term
) -> None:
    stopped_by_report(rin, host, term.instance)
    before = charged(term.pk)
    decide_report(staff=stella, report_id=FaultReport.objects.get().pk, upheld=True)
    pass_time(host, hours, 2 * 3600)
    assert charged(term.pk) == before
    start_instance(renter=rin, instance_id=term.instance_id)
    host.settle()
    pass_time(host, hours, 3600)
    assert charged(term.pk) == before + term.unit_micros
    assert_sound()


def test_after_a_rejected_report_the_next_one_pauses_no_term(
    rin: User, stella: User, host: FakeHost, hours: Clock, term: Term
) -> None:
    stopped_by_report(rin, host, term.instance)
    decide_report(staff=stella, report_id=FaultReport.objects.get().pk, upheld=False)
    start_instance(renter=rin, instance_id=term.instance_id)
    host.settle()
    pass_time(host, hours, 600)
    before = charged(term.pk)
    stopped_by_report(rin, host, term.instance)
    pass_time(host, hours, 3600)
    assert charged(term.pk) > before, "it goes on being charged"
    assert_sound()
    decide_report(staff=stella, report_id=FaultReport.objects.get(verdict="open").pk, upheld=True)
    credited = sum(-entry.amount_micros for entry in Entry.objects.filter(posting__kind="credit", kind="host_share"))
    assert 0 < credited <= term.unit_micros // 6, "ten minutes before the report, and nothing of the hour after it"
    then = charged(term.pk)
    pass_time(host, hours, 3600)
    assert charged(term.pk) == then, "it is paused now"
    assert_sound()
