"""What a host's fault leaves behind: one public entry for each run, and the renter's last hour given back."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from accounts.models import User
from agents.protocol.codes import FAILURES
from billing.metering.costs import costs_of
from billing.metering.settle import extend_holds, settle_meters
from billing.models import Posting
from billing.payouts.earnings_selectors import earnings_of
from billing.statements.selectors import statement_lines
from common import clock
from instances.constants import FAULT_OF, UNTOUCHED_ONLY
from instances.core.observations import ObservedRow
from instances.host_reports.reconcile import observe_report
from instances.launch.settings import validate
from instances.launch.store import save_launch
from instances.lifecycle.reimage import reimage_instance
from instances.lifecycle.start import restart_instance, start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance, InstanceEvent
from instances.transfers.selectors import desired_on_host
from marketplace.models import ReliabilityEvent
from storage.models import Image
from tests.billing.money import assert_sound, charged, grant, wallet
from tests.instances.fake_host import FakeHost, order, order_running, reload
from tests.instances.fixtures import Clock
from tests.instances.modes import converted, sell

RATE = 3_600_000
HOST_FAILURES = [code for code in FAILURES if FAULT_OF[code] == "host"]
OTHER_FAILURES = [code for code in FAILURES if FAULT_OF[code] != "host"]


def entries(host: FakeHost) -> list[tuple[str, str]]:
    rows = ReliabilityEvent.objects.filter(host=host.host).order_by("pk")
    return [(row.kind, row.detail) for row in rows]


def run_for(host: FakeHost, hours: Clock, minutes: int) -> None:
    for _ in range(minutes):
        hours.advance(minutes=1)
        host.sync()
        extend_holds(now=clock.now())


def fail(host: FakeHost, instance: Instance, code: str) -> None:
    host.end(instance, code)
    host.sync()


def test_an_instance_that_comes_to_run_is_a_good_start_and_a_restart_is_none(rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    host.sync()
    assert entries(host) == [("started", "")]
    restart_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    assert entries(host) == [("started", "")]
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    start_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    assert entries(host) == [("started", "")] * 2


@pytest.mark.parametrize("code", HOST_FAILURES)
def test_a_start_that_fails_through_the_host_is_entered_and_costs_nothing(rin: User, host: FakeHost, code: str) -> None:
    instance = order(rin, host)
    host.sync()
    host.break_next(instance, code)
    host.settle()
    host.sync()
    assert reload(instance).fault_of == "host"
    assert entries(host) == [("failed_start", code)]
    assert charged(instance.pk) == 0
    assert not Posting.objects.exclude(kind="grant").exists()
    assert wallet(rin).held_micros == 0


@pytest.mark.parametrize("code", OTHER_FAILURES)
def test_a_fault_of_the_renter_or_of_the_market_is_no_entry_and_gives_nothing_back(
    rin: User, host: FakeHost, hours: Clock, code: str
) -> None:
    broken = order(rin, host)
    host.sync()
    host.break_next(broken, code)
    host.settle()
    ended = order_running(rin, host)
    run_for(host, hours, 10)
    fail(host, ended, code)
    assert reload(ended).fault_of != "host"
    assert entries(host) == [("started", "")]
    assert not Posting.objects.filter(kind="credit").exists()


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize(("minutes", "back"), [(90, RATE), (20, RATE // 3), (0, 0)])
def test_a_run_that_the_host_breaks_gives_the_last_hour_back(
    rin: User, host: FakeHost, hours: Clock, *, minutes: int, back: int, settled: bool
) -> None:
    instance = order_running(rin, host)
    run_for(host, hours, minutes)
    if settled:
        settle_meters(now=clock.now())
    before = host.report()
    fail(host, instance, "gpu_lost")
    cost = minutes * RATE // 60
    for report in (host.report(), before, host.report()):
        host.deliver(report)
    settle_meters(now=clock.now())
    assert entries(host) == [("started", ""), ("host_fault", "gpu_lost")]
    assert wallet(rin).balance_micros == 1000 * 1_000_000 - cost + back
    assert (
        costs_of(source_kind="instance", source_ids=[instance.pk], now=clock.now())[instance.pk].total_micros == cost - back
    )
    assert wallet(host.owner, "host").balance_micros == (cost - back) * 9 // 10
    assert Posting.objects.filter(kind="credit").count() == (1 if back else 0)
    kinds = InstanceEvent.objects.filter(instance=instance).order_by("id").values_list("kind", flat=True)
    assert list(kinds) == ["rented", "running", "failed", *(["given_back"] if back else []), "gpus_released"]
    assert_sound()


def test_the_renter_and_the_owner_read_what_and_why(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    run_for(host, hours, 60)
    fail(host, instance, "gpu_lost")
    line = statement_lines(owner_id=rin.pk)[0]
    assert (line.kind, line.amount_micros, line.source_id) == ("refund", RATE, instance.pk)
    assert line.what == "box: 1 × rtx-4090: given back, the host failed (gpu_lost)"
    [back] = [each for each in earnings_of(owner_id=host.owner.pk).lines if each.is_given_back]
    assert (back.charge_micros, back.fee_micros, back.why) == (-RATE, -RATE // 10, line.what)


def test_each_broken_run_of_an_instance_counts_and_is_given_back(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    run_for(host, hours, 10)
    fail(host, instance, "gpu_lost")
    host.settle()
    start_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    run_for(host, hours, 15)
    fail(host, instance, "gpu_lost")
    assert [kind for kind, _ in entries(host)] == ["started", "host_fault"] * 2
    assert wallet(rin).balance_micros == 1000 * 1_000_000
    assert charged(instance.pk) == 25 * RATE // 60
    assert_sound()


@pytest.mark.parametrize("code", sorted(set(HOST_FAILURES) - UNTOUCHED_ONLY))
def test_a_restart_that_the_host_breaks_counts_and_what_ran_before_it_stays_paid(
    rin: User, host: FakeHost, hours: Clock, code: str
) -> None:
    instance = order_running(rin, host)
    run_for(host, hours, 10)
    restart_instance(renter=rin, instance_id=instance.pk)
    host.sync()
    host.break_next(instance, code)
    host.settle()
    assert reload(instance).fault_of == "host"
    assert entries(host) == [("started", ""), ("host_fault", code)]
    assert wallet(rin).balance_micros == 1000 * 1_000_000 - RATE // 6
    assert not Posting.objects.filter(kind="credit").exists()


def restart(rin: User, instance: Instance, host: FakeHost) -> None:
    restart_instance(renter=rin, instance_id=instance.pk)


def stop_and_start(rin: User, instance: Instance, host: FakeHost) -> None:
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    start_instance(renter=rin, instance_id=instance.pk)


@pytest.mark.parametrize("begin_again", [restart, stop_and_start])
@pytest.mark.parametrize("code", sorted(UNTOUCHED_ONLY))
def test_what_a_renter_can_do_to_the_own_root_is_nobodys_fault(
    rin: User, host: FakeHost, hours: Clock, code: str, begin_again: Callable[..., None]
) -> None:
    """sshd moved away, a full root, a broken entry point: nothing is given back, and nothing is held against the host."""
    instance = order_running(rin, host)
    run_for(host, hours, 10)
    begin_again(rin, instance, host)
    host.sync()
    host.break_next(instance, code)
    host.settle()
    assert reload(instance).fault_of == "nobody"
    assert entries(host) == [("started", "")]
    assert wallet(rin).balance_micros == 1000 * 1_000_000 - RATE // 6
    assert_sound()


def ended_from_inside(rin: User, instance: Instance, host: FakeHost) -> None:
    host.end(instance)
    host.sync()
    assert (reload(instance).failure_code, reload(instance).fault_of) == ("exited", "renter")


def stopped_at_once(rin: User, instance: Instance, host: FakeHost) -> None:
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    assert reload(instance).state == "stopped"


@pytest.mark.parametrize("ended", [ended_from_inside, stopped_at_once])
@pytest.mark.parametrize("code", sorted(UNTOUCHED_ONLY))
def test_a_run_between_two_reports_leaves_no_fresh_root_behind(
    rin: User, host: FakeHost, code: str, ended: Callable[[User, Instance, FakeHost], None]
) -> None:
    """Whoever is inside at once, moves sshd away and ends it has no start after start for nothing, at the host's expense."""
    instance = order(rin, host)
    host.sync()
    host.work()
    ended(rin, instance, host)
    for _ in range(2):
        host.settle()
        start_instance(renter=rin, instance_id=instance.pk)
        host.sync()
        assert [row.untouched for row in desired_on_host(host.host.pk)] == [False]
        host.break_next(instance, code)
        host.settle()
        assert reload(instance).fault_of == "nobody"
    assert entries(host) == []


@pytest.mark.parametrize(("code", "paid_s"), [("exited", 19), ("out_of_memory", 19), ("killed", 0), ("engine_restarted", 0)])
def test_a_run_that_ends_between_two_reports_is_paid_to_its_end(
    rin: User, host: FakeHost, hours: Clock, code: str, paid_s: int
) -> None:
    """Or a program that ends itself before each report would have the GPUs for nothing, as often as wanted."""
    instance = order_running(rin, host)
    for _ in range(3):
        hours.advance(seconds=19)
        host.end(instance, code, ran_s=19)
        hours.advance(seconds=1)  # until the report has come
        host.sync()
        host.settle()
        start_instance(renter=rin, instance_id=instance.pk)
        host.settle()
    assert charged(instance.pk) == 3 * paid_s * RATE // 3600
    assert_sound()


@pytest.mark.parametrize(("ran_s", "until", "paid_s"), [(10**9, 30, 30), (300, 400, 10), (100, 400, 100), (5, 30, 10)])
def test_a_host_s_word_on_how_long_it_ran_is_bounded(
    rin: User, host: FakeHost, hours: Clock, *, ran_s: int, until: int, paid_s: int
) -> None:
    """By the report that tells it, by the gap that is bridged after the last proof, and by what is proven already."""
    instance = order_running(rin, host)
    hours.advance(seconds=10)
    host.sync()
    hours.advance(seconds=until - 10)
    host.end(instance, ran_s=ran_s)
    host.sync()
    assert charged(instance.pk) == paid_s * RATE // 3600
    assert_sound()


def tell(host: FakeHost, instance: Instance, phase: str, *, run_seconds: float = 0.0, code: str = "") -> None:
    """A report of this one instance."""
    generation = reload(instance).run_generation
    row = ObservedRow(instance.pk, generation, phase, run_seconds=run_seconds, failure_code=code)
    observe_report(host_id=host.host.pk, rows=[row], absent=[], foreign=[], at=clock.now())


def test_what_runs_on_while_a_fresh_image_is_loaded_costs(rin: User, host: FakeHost, hours: Clock) -> None:
    """From a registry that takes its time: 20 minutes of it, and then the former root goes on, as often as wanted."""
    instance = order_running(rin, host)
    for _ in range(2):
        reimage_instance(renter=rin, instance_id=instance.pk, image="berth-base")
        for _ in range(20):
            hours.advance(minutes=1)
            tell(host, instance, "pulling", run_seconds=60.0)
        tell(host, instance, "failed", code="image_pull_timeout")
        assert reload(instance).setback_code == "image_pull_timeout"
        host.settle()
        assert reload(instance).state == "running"
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    assert charged(instance.pk) == 40 * RATE // 60
    assert_sound()


def test_nothing_runs_while_the_host_loads(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    reimage_instance(renter=rin, instance_id=instance.pk, image="berth-base")
    for _ in range(20):
        hours.advance(minutes=1)
        tell(host, instance, "pulling")
    host.settle()
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    assert charged(instance.pk) == 0


@pytest.mark.parametrize(("code", "paid_s"), [("start_failed", 22), ("system_disk_full", 22), ("killed", 0)])
def test_a_restart_that_fails_is_paid_until_then(rin: User, host: FakeHost, hours: Clock, code: str, paid_s: int) -> None:
    """As one that does not fail: the meter goes on with a restart."""
    instance = order_running(rin, host)
    hours.advance(seconds=19)
    restart_instance(renter=rin, instance_id=instance.pk)
    hours.advance(seconds=3)
    tell(host, instance, "failed", code=code)
    assert reload(instance).state == "failed"
    assert charged(instance.pk) == paid_s * RATE // 3600
    assert_sound()


@pytest.mark.parametrize("code", sorted(UNTOUCHED_ONLY))
@pytest.mark.parametrize("changes", [{"source": "saved"}, {"source": "named"}])
def test_an_image_of_the_renters_own_that_does_not_start_is_nobodys_fault(
    rin: User, host: FakeHost, code: str, changes: dict[str, str]
) -> None:
    instance = order(rin, host)
    Image.objects.filter(pk=instance.image_id).update(owner=rin, official=False, **changes)
    host.sync()
    host.break_next(instance, code)
    host.settle()
    assert (reload(instance).fault_of, entries(host)) == ("nobody", [])


@pytest.mark.parametrize("code", sorted(UNTOUCHED_ONLY))
def test_an_official_image_that_launch_settings_break_is_nobodys_fault(rin: User, host: FakeHost, code: str) -> None:
    """OPTIND=x, for example, ends every shell at its start: that must not count against the host."""
    instance = order(rin, host)
    launch = save_launch(rin, validate({"env": {"OPTIND": "x"}}))
    Instance.objects.filter(pk=instance.pk).update(launch=launch)
    host.sync()
    host.break_next(instance, code)
    host.settle()
    assert (reload(instance).fault_of, entries(host)) == ("nobody", [])


def test_a_root_that_was_cloned_is_its_renters_own(rin: User, host: FakeHost) -> None:
    instance = order(rin, host)
    Instance.objects.filter(pk=instance.pk).update(brought_root=instance.root_number)
    host.sync()
    host.break_next(instance, "ssh_silent")
    host.settle()
    assert (reload(instance).fault_of, entries(host)) == ("nobody", [])


def test_a_running_instance_fails_by_a_code_that_its_renter_can_bring_about(rin: User, host: FakeHost, hours: Clock) -> None:
    """An agent that lost its journal tests what runs anew."""
    instance = order_running(rin, host)
    run_for(host, hours, 10)
    host.break_next(instance, "ssh_silent")
    host.settle()
    assert (reload(instance).fault_of, entries(host)) == ("nobody", [("started", "")])
    assert not Posting.objects.filter(kind="credit").exists()


def test_the_agent_is_told_whether_silence_can_be_its_renters(rin: User, host: FakeHost) -> None:
    instance = order(rin, host)
    assert [row.untouched for row in desired_on_host(host.host.pk)] == [True]
    host.settle()
    assert [row.untouched for row in desired_on_host(host.host.pk)] == [False]
    other = order(rin, host)
    Image.objects.filter(pk=other.image_id).update(owner=rin, official=False, source="named")
    assert [row.untouched for row in desired_on_host(host.host.pk)] == [False, False]
    assert instance.pk != other.pk


def test_however_often_a_host_fails_two_hours_a_day_are_given_back(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    for _ in range(4):
        run_for(host, hours, 45)
        fail(host, instance, "killed")
        host.settle()
        start_instance(renter=rin, instance_id=instance.pk)
        host.settle()
    assert charged(instance.pk) == 3 * RATE
    assert wallet(rin).balance_micros == 1000 * 1_000_000 - RATE
    assert len(entries(host)) == 4 * 2 + 1, "the marks are counted all the same"
    hours.advance(hours=24)
    host.sync()
    fail(host, instance, "killed")
    host.settle()
    start_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    run_for(host, hours, 30)
    fail(host, instance, "killed")
    assert wallet(rin).balance_micros == 1000 * 1_000_000 - RATE
    assert_sound()


def test_another_billing_mode_gives_no_more_back(rin: User, host: FakeHost, hours: Clock) -> None:
    sell(host)
    instance = order_running(rin, host)
    for mode in ("hourly", "hourly", "reserved", "reserved"):
        if mode != reload(instance).billing_mode:
            converted(rin, reload(instance), mode, term="day")
        run_for(host, hours, 45)
        fail(host, instance, "killed")
        host.settle()
        start_instance(renter=rin, instance_id=instance.pk)
        host.settle()
    credits = Posting.objects.filter(kind="credit")
    assert {row.source_kind for row in credits} == {"instance", "term"}
    back = sum((row.period_to - row.period_from for row in credits if row.period_to and row.period_from), timedelta())
    assert back == timedelta(hours=2)
    assert_sound()


def test_only_what_ran_since_the_restart_is_given_back(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    run_for(host, hours, 30)
    restart_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    run_for(host, hours, 6)
    fail(host, instance, "gpu_lost")
    assert wallet(rin).balance_micros == 1000 * 1_000_000 - RATE // 2
    assert_sound()


def test_an_owners_own_instance_says_nothing_about_the_host(host: FakeHost, hours: Clock) -> None:
    grant(host.owner, 1_000_000_000)
    instance = order_running(host.owner, host)
    run_for(host, hours, 5)
    fail(host, instance, "gpu_lost")
    assert entries(host) == []
    assert wallet(host.owner).balance_micros == 1_000_000_000


def test_the_ledger_names_no_instance(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    run_for(host, hours, 5)
    fail(host, instance, "gpu_lost")
    rows = list(ReliabilityEvent.objects.filter(host=host.host))
    assert {row.subject for row in rows} != {instance.pk}
    assert len({row.subject for row in rows}) == 1
