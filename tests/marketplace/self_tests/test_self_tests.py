"""Self-tests: who may ask, one at a time, judged once, expired when unanswered, repeated by the market itself."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from accounts.models import User
from common import clock
from common.errors import NotFound
from marketplace.constants import (
    CHECK_COUNTS_FOR,
    MAX_CHECKS,
    SELF_TEST_EVERY,
    SELF_TEST_EXPIRES_AFTER,
    SELF_TEST_PAUSE,
    SELF_TESTS_KEPT,
    VERIFIED_FOR,
)
from marketplace.errors import HostNotOnline
from marketplace.hosts.hosts import freeze_host
from marketplace.models import Host, HostEvent, SelfTest
from marketplace.self_tests.requirements import REQUIREMENTS, CheckRow
from marketplace.self_tests.services import SelfTestRow, record_self_test, request_self_test, run_self_test_sweep
from marketplace.states import Verdict
from tests.marketplace.answers import but, good_rows, put_to_test
from tests.marketplace.shapes import enrolled

pytestmark = pytest.mark.django_db


@pytest.fixture
def host(hana: User) -> Host:
    return enrolled(hana)


def kinds(host: Host) -> list[str]:
    return list(HostEvent.objects.filter(host=host).order_by("id").values_list("kind", flat=True))


# -- asking


def test_the_owner_asks_and_asks_again_for_the_same(hana: User, host: Host) -> None:
    test = request_self_test(actor_id=hana.pk, host_id=host.pk)
    assert (test.verdict, test.asked_by) == (Verdict.PENDING, f"user:{hana.pk.hex}")
    assert request_self_test(actor_id=hana.pk, host_id=host.pk).pk == test.pk
    assert kinds(host) == ["enrolled", "self_test_asked"]


def test_nobody_else_may(mallory: User, host: Host) -> None:
    for host_id in (host.pk, uuid4()):
        with pytest.raises(NotFound):
            request_self_test(actor_id=mallory.pk, host_id=host_id)
    assert not SelfTest.objects.exists()


def test_a_host_that_does_not_report_is_not_asked(hana: User, host: Host) -> None:
    freeze_host(host_id=host.pk, reason="test", actor="staff")
    with pytest.raises(HostNotOnline):
        request_self_test(actor_id=hana.pk, host_id=host.pk)


def test_the_table_holds_one_pending_at_most(host: Host) -> None:
    SelfTest.objects.create(host=host, asked_by="market")
    with pytest.raises(IntegrityError), transaction.atomic():
        SelfTest.objects.create(host=host, asked_by="market")


# -- answering


def test_a_host_in_order_passes(host: Host) -> None:
    test = put_to_test(host)
    assert (test.verdict, test.simulated, test.seconds, test.agent_version) == (Verdict.PASSED, False, 12.5, "0.1.0")
    assert all(check["passed"] for check in test.checks)
    assert kinds(host)[-2:] == ["self_test", "verified"]


_ALWAYS = [name for name, known in REQUIREMENTS.items() if known.needed and not known.told_since and name != "finished"]


@pytest.mark.parametrize("name", _ALWAYS)
def test_one_needed_check_that_fails_or_is_missing_fails_it(host: Host, name: str) -> None:
    failed = put_to_test(host, but(good_rows(host), name, passed=False))
    assert failed.verdict == Verdict.FAILED
    assert name in HostEvent.objects.get(host=host, kind="self_test").detail
    missing = put_to_test(host, [row for row in good_rows(host) if row.id != name])
    assert missing.verdict == Verdict.FAILED
    assert not [check for check in missing.checks if check["id"] == name]


def test_ports_that_nobody_reaches_fail_it_and_an_older_agent_need_not_tell(host: Host) -> None:
    closed = CheckRow(id="ports", passed=False, actual="TCP 20000 at 203.1.2.3: refused", required="TCP 20000-20999 open")
    failed = put_to_test(host, [*good_rows(host), closed])
    assert failed.verdict == Verdict.FAILED
    (ports_check,) = [check for check in failed.checks if check["id"] == "ports"]
    assert "--behind-nat" in ports_check["remedy"]
    assert put_to_test(host).verdict == Verdict.PASSED


def test_whether_udp_arrives_is_noted_and_stays_until_it_is_tested_again(host: Host) -> None:
    def reached() -> bool | None:
        host.refresh_from_db()
        return host.udp_reached

    put_to_test(host)
    assert reached() is None, "an older agent tests nothing"
    closed = CheckRow(id="udp_ports", passed=False, actual="UDP 20000 at 203.1.2.3: no answer", required="UDP open")
    test = put_to_test(host, [*good_rows(host), closed])
    assert (test.verdict, reached()) == (Verdict.PASSED, False), "it only advises"
    assert "for UDP as for TCP" in test.checks[-1]["remedy"]
    put_to_test(host, [*good_rows(host), CheckRow(id="udp_ports", reason="failed")])
    assert reached() is False
    put_to_test(host, [*good_rows(host), CheckRow(id="udp_ports", passed=True)])
    assert reached() is True


def test_one_gpu_of_two_is_not_enough(host: Host) -> None:
    uuid = host.gpus.order_by("index")[1].uuid
    rows = [row for row in good_rows(host) if not (row.id == "gpu_compute" and row.gpu == uuid)]
    assert put_to_test(host, rows).verdict == Verdict.FAILED


@pytest.mark.parametrize("name", ["clock", "disk_random_read"])
def test_a_check_that_is_not_needed_only_advises(host: Host, name: str) -> None:
    assert put_to_test(host, but(good_rows(host), name, passed=False, value=99.0)).verdict == Verdict.PASSED


def test_a_self_test_that_did_not_finish_fails(host: Host) -> None:
    late = CheckRow("finished", passed=False, reason="out_of_time", actual="A check hangs.")
    assert put_to_test(host, [*good_rows(host), late]).verdict == Verdict.FAILED


def test_simulated_findings_are_marked(host: Host) -> None:
    test = put_to_test(host, good_rows(host, simulated=True))
    assert test.simulated
    assert all(check["simulated"] for check in test.checks)


def test_texts_of_an_agent_are_cut_and_cleaned(host: Host) -> None:
    test = put_to_test(host, but(good_rows(host), "kernel", actual="6.1\x00\n" + "x" * 999))
    (kernel,) = [check for check in test.checks if check["id"] == "kernel"]
    assert len(kernel["actual"]) <= 300
    assert "\x00" not in kernel["actual"] and "\n" not in kernel["actual"]


def test_no_more_checks_than_a_host_can_have(host: Host) -> None:
    assert len(put_to_test(host, [CheckRow(f"check_{n}", True) for n in range(MAX_CHECKS + 50)]).checks) == MAX_CHECKS


def test_only_what_is_waited_for_is_taken(hana: User, host: Host) -> None:
    other = enrolled(hana, name="other")
    test = request_self_test(actor_id=hana.pk, host_id=host.pk)
    row = SelfTestRow(test.pk, good_rows(host))
    assert not record_self_test(host_id=other.pk, row=row, agent_version="1", at=clock.now())
    assert not record_self_test(host_id=host.pk, row=SelfTestRow(uuid4(), ()), agent_version="1", at=clock.now())
    assert record_self_test(host_id=host.pk, row=row, agent_version="1", at=clock.now())
    assert not record_self_test(host_id=host.pk, row=SelfTestRow(test.pk, ()), agent_version="1", at=clock.now())


def test_old_ones_are_forgotten(hana: User, host: Host) -> None:
    now = clock.now()
    past = [
        SelfTest(host=host, asked_by="market", verdict=Verdict.PASSED, asked_at=now - timedelta(hours=n + 1))
        for n in range(60)
    ]
    SelfTest.objects.bulk_create(past)
    newest = put_to_test(host)
    assert SelfTest.objects.count() == SELF_TESTS_KEPT
    assert SelfTest.objects.filter(pk=newest.pk).exists()


# -- what a GPU in use cannot show again


def in_use(host: Host) -> list[CheckRow]:
    rows = good_rows(host)
    for name in ("gpu_exclusive", "gpu_memory", "gpu_compute"):
        rows = but(rows, name, passed=None, value=None, reason="in_use", actual="An instance holds this GPU.")
    return rows


def test_a_gpu_in_use_counts_as_it_was_found_last(host: Host) -> None:
    first = put_to_test(host)
    again = put_to_test(host, in_use(host))
    assert again.verdict == Verdict.PASSED
    (kept, *_) = [check for check in again.checks if check["id"] == "gpu_compute"]
    assert (kept["passed"], kept["value"], kept["reason"]) == (True, 77.0, "in_use")
    assert first.finished_at is not None
    assert kept["as_of"] == first.finished_at.isoformat()
    third = put_to_test(host, in_use(host))
    assert third.checks[-1]["as_of"] == kept["as_of"], "an old finding stays as old as it is"


def test_a_gpu_that_was_never_tested_has_not_passed(host: Host) -> None:
    assert put_to_test(host, in_use(host)).verdict == Verdict.FAILED


def test_a_gpu_that_failed_last_has_not_passed(host: Host) -> None:
    put_to_test(host)
    put_to_test(host, but(good_rows(host), "gpu_compute", value=1.0))
    assert put_to_test(host, in_use(host)).verdict == Verdict.FAILED


def test_an_old_finding_counts_for_a_while_only(host: Host) -> None:
    put_to_test(host, at=clock.now() - CHECK_COUNTS_FOR - timedelta(days=1))
    assert put_to_test(host, in_use(host)).verdict == Verdict.FAILED


def test_a_finding_of_other_hardware_does_not_count(host: Host) -> None:
    put_to_test(host)
    Host.objects.filter(pk=host.pk).update(driver="999.1")
    assert put_to_test(host, in_use(host)).verdict == Verdict.FAILED


# -- the periodic pass


def test_one_that_is_not_answered_expires(hana: User, host: Host) -> None:
    test = request_self_test(actor_id=hana.pk, host_id=host.pk)
    run_self_test_sweep(now=clock.now() + SELF_TEST_EXPIRES_AFTER - timedelta(seconds=5))
    test.refresh_from_db()
    assert test.verdict == Verdict.PENDING
    run_self_test_sweep(now=clock.now() + SELF_TEST_EXPIRES_AFTER + timedelta(seconds=5))
    test.refresh_from_db()
    assert test.verdict == Verdict.EXPIRED
    assert kinds(host)[-1] == "self_test_expired"
    late = SelfTestRow(test.pk, good_rows(host))
    assert not record_self_test(host_id=host.pk, row=late, agent_version="1", at=clock.now())


def seen(host: Host, at: object) -> None:
    Host.objects.filter(pk=host.pk).update(last_seen_at=at)


def test_the_market_asks_a_new_host_once(host: Host) -> None:
    now = clock.now()
    assert run_self_test_sweep(now=now) == 1
    assert run_self_test_sweep(now=now) == 0
    assert SelfTest.objects.get().asked_by == "market"


def test_the_market_asks_again_after_a_week(host: Host) -> None:
    test = put_to_test(host)
    for days, requested in ((6.9, 0), (7.1, 1)):
        later = clock.now() + timedelta(days=days)
        seen(host, later)
        assert run_self_test_sweep(now=later) == requested
    assert SELF_TEST_EVERY < VERIFIED_FOR, "or every host would lapse"
    assert test.verdict == Verdict.PASSED


def test_an_agent_that_never_answers_is_asked_a_few_times_a_day(host: Host) -> None:
    now = clock.now()
    run_self_test_sweep(now=now)
    requested = 0
    for minutes in range(0, 24 * 60, 10):
        later = now + timedelta(minutes=minutes)
        seen(host, later)
        requested += run_self_test_sweep(now=later)
    assert requested == timedelta(days=1) // SELF_TEST_PAUSE - 1


@pytest.mark.parametrize("silent_for", [timedelta(minutes=2), timedelta(days=1)])
def test_a_host_that_does_not_report_is_left_alone(host: Host, silent_for: timedelta) -> None:
    seen(host, clock.now() - silent_for)
    assert run_self_test_sweep(now=clock.now()) == 0
