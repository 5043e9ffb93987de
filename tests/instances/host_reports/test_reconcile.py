"""What a report does, and what it must not do: late, doubled, foreign, from a generation that is no more."""

import itertools
from datetime import timedelta
from typing import get_args
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from agents.protocol.codes import FAILURES
from agents.protocol.messages import Phase
from billing.models import Hold, Meter
from common import clock
from instances.constants import FAULT_OF, RETENTION, STOP_GRACE
from instances.core.observations import ObservedRow
from instances.core.selectors import desired_instances, live_on_host
from instances.host_reports import reconcile
from instances.host_reports.reconcile import ABSENT, next_state, observe_report
from instances.lifecycle.start import restart_instance, start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance, InstanceEvent, InstancePort, InstanceSample
from instances.release.services import release_instance
from instances.states import INSTANCE_MACHINE, Desired, InstanceState
from marketplace.leasing.selectors import live_leases_of
from marketplace.models import Incident
from tests.billing.money import assert_sound, charged
from tests.host_messages import with_message
from tests.instances.fake_host import FakeHost, FakeReport, Use, order, order_running, reload
from tests.instances.fixtures import Clock

PHASES = (*get_args(Phase), ABSENT)
COMING = ("requested", "provisioning", "starting", "restarting")
MOVES = {
    **{("requested", "running", phase): "provisioning" for phase in ("pulling", "creating", "testing")},
    **{(state, "running", "running"): "running" for state in COMING},
    **{(state, "running", phase): "failed" for state in (*COMING, "running") for phase in ("failed", "exited")},
    ("stopping", "stopped", "stopped"): "stopped",
    ("releasing", "gone", "absent"): "gone",
}


def only(host: FakeHost, row: ObservedRow) -> FakeReport:
    return FakeReport((row,), ())


def seen(instance: Instance, phase: str, generation: int | None = None, **columns: object) -> ObservedRow:
    chosen = instance.run_generation if generation is None else generation
    return ObservedRow(id=instance.pk, generation=chosen, phase=phase, **with_message(columns))


# -- the pure rule


def test_next_state(subtests: pytest.Subtests) -> None:
    for state, desired, phase in itertools.product(InstanceState, Desired, PHASES):
        with subtests.test(f"{state}-{desired}-{phase}"):
            target = next_state(state, desired, phase)
            assert target == MOVES.get((str(state), str(desired), phase))
            assert target is None or INSTANCE_MACHINE.allows(state, target)


# -- becoming running


def test_the_meter_opens_with_the_first_report_of_running_and_not_before(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order(rin, host, gpu_count=2)
    host.sync()
    hours.advance(minutes=3)
    host.sync()
    assert reload(instance).state == "provisioning"
    assert not Meter.objects.exists()
    host.work()
    hours.advance(seconds=5)
    host.sync()
    meter = Meter.objects.get()
    assert (reload(instance).state, reload(instance).started_at) == ("running", clock.now())
    assert (meter.opened_at, meter.rate_micros) == (clock.now(), 2 * 3_600_000)
    assert meter.label == "box: 2 × rtx-4090"
    assert meter.funded_until == clock.now() + timedelta(hours=1)
    assert (meter.payer.owner, meter.payee.owner) == (rin, host.owner)


def test_running_at_once_passes_over_provisioning(rin: User, host: FakeHost) -> None:
    instance = order(rin, host)
    host.settle()
    kinds = InstanceEvent.objects.filter(instance=instance).order_by("id").values_list("kind", flat=True)
    assert list(kinds) == ["rented", "running"]


def test_progress_is_shown_while_it_lasts(rin: User, host: FakeHost) -> None:
    instance = order(rin, host)
    host.sync()
    host.deliver(only(host, seen(instance, "pulling", detail="3 of 7 layers")))
    host.deliver(only(host, seen(instance, "pulling", detail="4 of 7 layers")))
    assert reload(instance).progress == "4 of 7 layers"
    host.settle()
    assert reload(instance).progress == ""


# -- failing


@pytest.mark.parametrize("code", FAILURES)
def test_a_failure_before_running_costs_nothing_and_frees_gpus_on_proof(rin: User, host: FakeHost, code: str) -> None:
    instance = order(rin, host)
    host.sync()
    host.break_next(instance, code, "why")
    host.deliver(host.report())
    failed = reload(instance)
    assert (failed.state, failed.desired) == ("failed", "stopped")
    assert (failed.failure_code, failed.failure_detail, failed.fault_of) == (code, "why", FAULT_OF[code])
    assert not Hold.objects.filter(released_at=None).exists()
    assert len(live_leases_of(instance.pk)) == 1, "the GPU is held until the container is proven stopped (D2)"
    host.settle()
    let_go = reload(instance)
    assert live_leases_of(instance.pk) == []
    assert (let_go.state, let_go.stopped_at, let_go.release_at) == ("failed", clock.now(), clock.now() + RETENTION)
    assert charged(instance.pk) == 0
    assert_sound()


def test_fault_032_a_container_that_runs_out_of_memory_is_paid_to_its_last_proof(
    rin: User, host: FakeHost, hours: Clock
) -> None:
    instance = order_running(rin, host)
    hours.advance(seconds=100)
    host.sync()
    hours.advance(seconds=50)
    host.end(instance, "out_of_memory")
    host.sync()
    failed = reload(instance)
    assert (failed.state, failed.failure_code, failed.fault_of) == ("failed", "out_of_memory", "renter")
    assert charged(instance.pk) == 100 * 3_600_000 // 3600
    host.settle()
    start_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    assert (reload(instance).state, reload(instance).failure_code) == ("running", "")
    assert_sound()


def test_a_code_that_nobody_knows_proves_nothing_against_anybody(rin: User, host: FakeHost) -> None:
    """It may be one that a renter can bring about."""
    instance = order(rin, host)
    host.deliver(only(host, seen(instance, "failed", failure_code="who_knows")))
    assert reload(instance).fault_of == "nobody"


# -- ending


def test_stopped_on_proof_frees_gpus_and_money_and_keeps_the_data(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host, gpu_count=2)
    hours.advance(seconds=60)
    stop_instance(renter=rin, instance_id=instance.pk)
    host.sync()
    assert reload(instance).state == "stopping"
    assert len(live_leases_of(instance.pk)) == 2
    host.work()
    hours.advance(seconds=2)
    host.sync()
    stopped = reload(instance)
    assert (stopped.state, stopped.stopped_at) == ("stopped", clock.now())
    assert stopped.release_at == clock.now() + timedelta(days=30)
    assert live_leases_of(instance.pk) == []
    assert not Hold.objects.filter(released_at=None).exists()
    assert InstancePort.objects.filter(instance=instance).count() == 3, "the ports are its own for life"
    assert charged(instance.pk) == 60 * 2 * 3_600_000 // 3600
    assert_sound()


def test_gone_on_proof_leaves_nothing(rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    release_instance(renter=rin, instance_id=instance.pk)
    host.sync()
    assert reload(instance).state == "releasing"
    assert len(live_leases_of(instance.pk)) == 1
    host.work()
    host.sync()
    gone = reload(instance)
    assert (gone.state, gone.released_at, gone.release_at) == ("gone", clock.now(), None)
    assert live_leases_of(instance.pk) == []
    assert not InstancePort.objects.exists()
    assert desired_instances(host.host.pk) == []
    assert host.sync() == [], "the host may say once more that it is absent"


def test_absence_of_what_should_be_there_proves_nothing(rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    host.deliver(FakeReport((), (instance.pk,)))
    assert reload(instance).state == "running"
    assert len(live_leases_of(instance.pk)) == 1


# -- what is late, doubled or foreign


def test_fault_018_an_old_report_never_moves_an_instance_back(rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    old = [host.report()]
    stop_instance(renter=rin, instance_id=instance.pk)
    host.sync()
    old.append(host.report())
    host.settle()
    old.append(host.report())
    start_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    stop_instance(renter=rin, instance_id=instance.pk)
    for report in old:
        host.deliver(report)
        assert reload(instance).state == "stopping"
        assert len(live_leases_of(instance.pk)) == 1


def test_fault_018_the_generation_is_what_holds_old_reports_back(
    rin: User, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The paired test: with the generation taken for granted, GPUs are freed under a running container."""
    instance = order_running(rin, host)
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    old = host.report()
    start_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    stop_instance(renter=rin, instance_id=instance.pk)
    believed = [seen(reload(instance), row.phase) for row in old.rows]
    host.deliver(FakeReport(tuple(believed), ()))
    assert live_leases_of(instance.pk) == []
    assert host.running() == {instance.pk}


@pytest.mark.parametrize("phase", PHASES[:-1])
def test_a_lower_generation_moves_nothing_in_any_phase(rin: User, host: FakeHost, phase: str) -> None:
    instance = order_running(rin, host)
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    start_instance(renter=rin, instance_id=instance.pk)
    host.deliver(only(host, seen(instance, phase, generation=1)))
    assert reload(instance).state == "starting"
    assert len(live_leases_of(instance.pk)) == 1


def test_a_generation_that_was_never_asked_for_is_an_incident(rin: User, host: FakeHost) -> None:
    instance = order(rin, host)
    host.deliver(only(host, seen(instance, "running", generation=7)))
    assert reload(instance).state == "requested"
    assert reload(instance).observed_generation == 0
    assert Incident.objects.get().kind == "strange_report"


def test_fault_017_a_report_twice_is_a_report_once(rin: User, host: FakeHost) -> None:
    instance = order(rin, host)
    host.sync()
    host.work()
    for _ in range(3):
        host.deliver(host.report())
    assert InstanceEvent.objects.filter(instance=instance, kind="running").count() == 1
    assert Meter.objects.count() == 1


def test_fault_016_a_lost_report_is_made_good_by_the_next(rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    stop_instance(renter=rin, instance_id=instance.pk)
    host.sync()
    host.work()
    host.report()  # lost on the way
    start = host.report()
    host.deliver(start)
    assert reload(instance).state == "stopped"


def test_fault_089_strangers_are_named_and_nothing_else_happens(rin: User, host: FakeHost) -> None:
    other = FakeHost(host.owner)
    instance = order_running(rin, other)
    row = seen(instance, "failed", failure_code="disk_full")
    assert host.deliver(FakeReport((row,), (instance.pk,))) == [instance.pk]
    assert reload(instance).state == "running"


def test_foreign_containers_become_one_incident(host: FakeHost) -> None:
    for _ in range(2):
        observe_report(host_id=host.host.pk, rows=(), absent=(), foreign=("berth-x-1",), at=clock.now())
    assert Incident.objects.get().kind == "foreign_container"


def test_gpus_that_are_not_leased_to_it_become_an_incident(rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    host.deliver(only(host, seen(instance, "running", gpu_uuids=["GPU-of-someone-else"])))
    assert Incident.objects.get().kind == "strange_report"
    assert reload(instance).state == "running"


@pytest.mark.django_db(transaction=True)
def test_what_cannot_be_taken_in_for_one_does_not_lose_the_report_of_the_others(rin: User, host: FakeHost) -> None:
    """Without a hold no meter can open: that must not happen, and if it does, it concerns that instance alone."""
    broken, fine = order(rin, host), order(rin, host)
    Hold.objects.filter(source_id=broken.pk).update(released_at=clock.now())
    host.settle()
    assert (reload(broken).state, reload(fine).state) == ("requested", "running")
    assert [incident.kind for incident in Incident.objects.all()] == ["report_refused"]


@pytest.mark.django_db(transaction=True)
def test_a_row_that_moved_since_it_was_read_is_left_to_the_next_report(
    rin: User, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = order(rin, host)
    host.sync()
    host.work()

    def overtaken(host_id: UUID) -> dict[UUID, Instance]:
        rows = live_on_host(host_id)
        release_instance(renter=rin, instance_id=instance.pk)
        return rows

    monkeypatch.setattr(reconcile, "live_on_host", overtaken)
    host.deliver(host.report())
    assert reload(instance).state == "releasing"
    assert not Meter.objects.exists()
    assert not Incident.objects.exists()


# -- proof


def test_use_is_proven_by_reports_of_running_alone(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    opened = Meter.objects.get().opened_at
    hours.advance(seconds=20)
    host.sync()
    assert Meter.objects.get().proven_until == opened + timedelta(seconds=20)
    hours.advance(seconds=20)
    host.deliver(only(host, seen(instance, "unknown")))
    host.deliver(only(host, seen(instance, "stopped")))
    host.deliver(FakeReport((), ()))
    assert Meter.objects.get().proven_until == opened + timedelta(seconds=20)


def test_fault_024_a_long_gap_is_not_charged(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    hours.advance(seconds=100)
    host.sync()
    hours.advance(seconds=300)
    host.sync()
    hours.advance(seconds=100)
    host.sync()
    release_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    assert charged(instance.pk) == 200 * 1000
    assert reload(instance).state == "gone"
    assert_sound()


def test_fault_042_a_restart_goes_on_charging_across_the_short_gap(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    hours.advance(seconds=30)
    restart_instance(renter=rin, instance_id=instance.pk)
    host.sync()  # still the old generation: alive, and so proven
    assert Meter.objects.get().proven_until == clock.now()
    hours.advance(seconds=30)
    host.settle()
    assert reload(instance).state == "running"
    assert Meter.objects.count() == 1
    hours.advance(seconds=30)
    host.sync()
    assert Meter.objects.get().proven_until - Meter.objects.get().opened_at == timedelta(seconds=90)


def test_fault_088_a_host_that_delays_the_stop_earns_the_grace_and_no_more(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    hours.advance(seconds=60)
    stop_instance(renter=rin, instance_id=instance.pk)
    for _ in range(30):
        host.deliver(only(host, seen(instance, "stopping")))
        hours.advance(seconds=5)
    host.settle()
    assert reload(instance).state == "stopped"
    assert charged(instance.pk) == (60 + int(STOP_GRACE.total_seconds())) * 1000
    assert_sound()


def test_fault_088_nor_does_one_that_comes_back_after_a_silence(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    hours.advance(seconds=60)
    host.sync()
    stop_instance(renter=rin, instance_id=instance.pk)
    hours.advance(minutes=10)
    host.deliver(only(host, seen(instance, "running")))
    hours.advance(seconds=60)
    host.settle()
    assert charged(instance.pk) == 60 * 1000
    assert Meter.objects.count() == 1
    assert_sound()


# -- samples and cost


def test_samples_are_kept_as_means_and_sums(rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    host.deliver(only(host, seen(instance, "running", sample=Use())))
    sample = InstanceSample.objects.get()
    assert (sample.cpu_pct, sample.gpu_util_pct, sample.vram_used_mb) == (150.0, 50.0, 4000)
    host.deliver(only(host, seen(instance, "running", sample=Use(gpus=()))))
    assert InstanceSample.objects.latest("id").gpu_util_pct == 0.0


@pytest.mark.parametrize("count", [1, 4])
def test_a_report_with_nothing_new_costs_two_queries_however_many_run(rin: User, host: FakeHost, count: int) -> None:
    for _ in range(count):
        order(rin, host)
    host.settle()
    report = host.report()
    with CaptureQueriesContext(connection) as queries:
        observe_report(host_id=host.host.pk, rows=report.rows, absent=(), foreign=(), at=clock.now())
    real = [query["sql"] for query in queries if not query["sql"].startswith(("SAVEPOINT", "RELEASE", "SET LOCAL"))]
    assert len(real) == 2, real


def test_the_pure_rule_is_all_that_moves(rin: User, host: FakeHost) -> None:
    """Every target of the rule has its move."""
    assert set(reconcile._MOVES) | {"gone"} == set(MOVES.values())
