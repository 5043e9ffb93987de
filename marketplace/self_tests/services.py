"""Self-tests of hosts: requested by owner or market, answered by the agent, evaluated, expired."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from common import change_counters, clock
from common.db.transactions import use_case
from common.errors import NotFound
from common.printable import cut_printable
from marketplace.constants import (
    CHECK_COUNTS_FOR,
    MAX_CHECKS,
    SELF_TEST_BATCH,
    SELF_TEST_EVERY,
    SELF_TEST_EXPIRES_AFTER,
    SELF_TEST_PAUSE,
    SELF_TESTS_KEPT,
)
from marketplace.errors import HostNotOnline
from marketplace.host_messages import ChecksFailed, ChecksPassed, NoTestAnswer
from marketplace.hosts.hosts import lock_host, record_event
from marketplace.models import Gpu, Host, SelfTest
from marketplace.reliability.verification import hardware_of, lapse_stale, update_verification
from marketplace.self_tests.requirements import REQUIREMENTS, UDP_PORTS, CheckRow, evaluated_check
from marketplace.states import HostState, Verdict

AGENT: Final = "agent"
MARKET: Final = "market"
# A check that was skipped for one of these reasons counts as it was found last.
_EXCUSED: Final = ("in_use", "refused")
_SIZES: Final = {"id": 40, "unit": 12, "gpu": 80, "reason": 20, "actual": 300, "required": 200, "remedy": 300}


@dataclass(frozen=True)
class SelfTestRow:
    """Result of one self-test as the agent reports it; see the protocol's SelfTestResult."""

    id: UUID
    checks: Sequence[CheckRow]
    seconds: float = 0.0


def request_self_test(*, actor_id: UUID, host_id: UUID) -> SelfTest:
    """Request a self-test of an own host, or return the one that is pending.

    Raises:
        NotFound: the host is not theirs.
        HostNotOnline: its agent does not report.
    """
    with use_case():
        host = lock_host(host_id) if Host.objects.filter(pk=host_id, owner_id=actor_id).exists() else None
        if host is None:
            raise NotFound("This host doesn't exist.")
        if host.state != HostState.ONLINE:
            raise HostNotOnline("The host's agent isn't reporting, so a self-test can't be run.")
        pending = SelfTest.objects.filter(host=host, verdict=Verdict.PENDING).first()
        return pending or _request(host, f"user:{actor_id.hex}", clock.now())


def _request(host: Host, actor: str, now: datetime) -> SelfTest:
    test = SelfTest.objects.create(host=host, asked_by=actor, asked_at=now)
    record_event(host_id=host.pk, kind="self_test_asked", actor=actor)
    change_counters.notify_change(f"host:{host.pk.hex}", f"user:{host.owner_id.hex}")
    return test


def record_self_test(*, host_id: UUID, row: SelfTestRow, agent_version: str, at: datetime) -> bool:
    """Evaluate and store the agent's findings; return False if nobody waits for this answer."""
    if not SelfTest.objects.filter(pk=row.id, host_id=host_id, verdict=Verdict.PENDING).exists():
        return False
    with use_case():
        host = lock_host(host_id)
        test = SelfTest.objects.filter(pk=row.id, host=host, verdict=Verdict.PENDING).first()
        if test is None:
            return False
        test.hardware = hardware_of(host)
        test.checks = _evaluated(host, test, row.checks, at)
        failed = _missing(host, test.checks)
        test.verdict = Verdict.FAILED if failed else Verdict.PASSED
        test.simulated = any(check["simulated"] for check in test.checks)
        test.finished_at, test.seconds, test.agent_version = at, max(0.0, row.seconds), cut_printable(agent_version, 20)
        test.save()
        detail = ChecksFailed(checks=", ".join(failed)) if failed else ChecksPassed(count=len(test.checks))
        record_event(host_id=host_id, kind="self_test", detail=detail, actor=AGENT)
        update_verification(host=host, now=at, actor=AGENT)
        _note_udp(host, test.checks)
        _delete_old(host)
        change_counters.notify_change(f"user:{host.owner_id.hex}")
    return True


def _evaluated(host: Host, test: SelfTest, rows: Sequence[CheckRow], at: datetime) -> list[dict[str, Any]]:
    models = {uuid: (slug, vram) for uuid, slug, vram in _present(host).values_list("uuid", "model", "vram_mb")}
    checks = [evaluated_check(_plain(row), models=models) for row in rows[:MAX_CHECKS]]
    left_out = [check for check in checks if check["passed"] is None and check["reason"] in _EXCUSED]
    if left_out:
        earlier = _earlier(host, test.hardware, at)
        for check in left_out:
            found = earlier.get((check["id"], check["gpu"]))
            if found is not None:
                check.update({"passed": True, "as_of": found["as_of"], "value": found["value"], "remedy": ""})
    return checks


def _plain(row: CheckRow) -> CheckRow:
    texts = {name: cut_printable(getattr(row, name), size) for name, size in _SIZES.items()}
    return CheckRow(**texts, passed=row.passed, value=row.value, simulated=row.simulated)


def _earlier(host: Host, hardware: str, at: datetime) -> dict[tuple[str, str | None], dict[str, Any]]:
    """Return the last real finding of each check that passed on the same hardware, with its time."""
    tests = SelfTest.objects.filter(host=host, hardware=hardware, finished_at__gt=at - CHECK_COUNTS_FOR)
    found: dict[tuple[str, str | None], dict[str, Any]] = {}
    for test in tests.order_by("finished_at"):
        for check in test.checks:
            if test.finished_at and check["as_of"] is None and check["passed"] is not None:
                found[check["id"], check["gpu"]] = {**check, "as_of": test.finished_at.isoformat()}
    return {key: check for key, check in found.items() if check["passed"]}


def _missing(host: Host, checks: Sequence[dict[str, Any]]) -> list[str]:
    """Return the required checks that did not pass, or were not tried."""
    gpus = list(_present(host).values_list("uuid", flat=True))
    must = {
        (name, None)
        for name, known in REQUIREMENTS.items()
        if known.needed and not known.per_gpu and not known.told_since and name != "finished"
    }
    must |= {(name, uuid) for name, known in REQUIREMENTS.items() if known.needed and known.per_gpu for uuid in gpus}
    passed = {(check["id"], check["gpu"]) for check in checks if check["passed"]}
    failed = {(check["id"], check["gpu"]) for check in checks if check["needed"] and not check["passed"]}
    return sorted({name for name, _ in (must - passed) | failed})


def _note_udp(host: Host, checks: Sequence[dict[str, Any]]) -> None:
    """Note whether UDP reaches the host, which orders with UDP ports depend on; without a finding it stays as it was."""
    reached = next((check["passed"] for check in checks if check["id"] == UDP_PORTS), None)
    if reached is not None and reached != host.udp_reached:
        Host.objects.filter(pk=host.pk).update(udp_reached=reached)


def _present(host: Host) -> Any:
    return Gpu.objects.filter(host=host, present=True).order_by("index", "pk")


def _delete_old(host: Host) -> None:
    own = SelfTest.objects.filter(host=host).order_by("-asked_at", "-id")
    own.filter(pk__in=list(own.values_list("pk", flat=True)[SELF_TESTS_KEPT:])).delete()


def run_self_test_sweep(*, now: datetime) -> int:
    """Expire unanswered self-tests, let old verifications lapse, request due self-tests; return how many.

    Run as a sweep.
    """
    late = SelfTest.objects.filter(verdict=Verdict.PENDING, asked_at__lt=now - SELF_TEST_EXPIRES_AFTER)
    for test_id, host_id in list(late.order_by("host_id").values_list("pk", "host_id")):
        _expire(test_id, host_id, now)
    lapse_stale(now=now)
    due = _due(now).order_by("pk").values_list("pk", flat=True)[:SELF_TEST_BATCH]
    return sum(_request_if_due(host_id, now) for host_id in list(due))


def _expire(test_id: UUID, host_id: UUID, now: datetime) -> None:
    with use_case():
        host = lock_host(host_id)
        pending = SelfTest.objects.filter(pk=test_id, verdict=Verdict.PENDING)
        if pending.update(verdict=Verdict.EXPIRED, finished_at=now):
            detail = NoTestAnswer(minutes=SELF_TEST_EXPIRES_AFTER.seconds // 60)
            record_event(host_id=host_id, kind="self_test_expired", detail=detail, actor=MARKET)
            change_counters.notify_change(f"user:{host.owner_id.hex}")


def _due(now: datetime) -> Any:
    """Return reporting hosts whose last self-test is long ago, or that never had one."""
    return Host.objects.filter(
        ~_tested_since(now - SELF_TEST_EVERY, Verdict.PENDING, Verdict.PASSED, Verdict.FAILED),
        ~_tested_since(now - SELF_TEST_PAUSE, Verdict.EXPIRED),
        state=HostState.ONLINE,
        last_seen_at__gt=now - timedelta(minutes=1),
    )


def _tested_since(since: datetime, *verdicts: Verdict) -> Q:
    tests = SelfTest.objects.filter(host=OuterRef("pk"), verdict__in=verdicts, asked_at__gt=since)
    return Q(Exists(tests))


def _request_if_due(host_id: UUID, now: datetime) -> bool:
    with use_case():
        host = lock_host(host_id)
        if not _due(now).filter(pk=host_id).exists():
            return False
        _request(host, MARKET, now)
    return True
