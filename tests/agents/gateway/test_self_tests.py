"""A self-test on the wire: asked for in the desired state, answered in a report, once, and only by its own host."""

import dataclasses
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from agents.gateway.selectors import standing_of
from agents.protocol.messages import Check, GpuFacts, HostFacts, SelfTestResult
from marketplace.hosts.hosts import ReportedGpu, ReportedHost
from marketplace.models import Host, Incident, SelfTest
from marketplace.self_tests.services import request_self_test
from marketplace.states import Verdict, Verification

from .conftest import Agent, facts, report

pytestmark = pytest.mark.django_db


def good_checks(known: HostFacts) -> list[Check]:
    """What a host in order finds, as a simulated agent says it."""
    per_gpu = [
        check
        for gpu in known.gpus
        for check in (
            Check("gpu_exclusive", True, "0 programs of others", gpu=gpu.uuid),
            Check("gpu_memory", value=float(gpu.vram_mb), unit="MiB", gpu=gpu.uuid),
            Check("gpu_compute", value=77.0, unit="TFLOPS", gpu=gpu.uuid),
        )
    ]
    speeds = {"disk_free": 900.0, "disk_read": 3000.0, "disk_write": 2000.0, "network_up": 500.0, "network_down": 800.0}
    return [
        Check("engine_version", True, "27.1"),
        Check("kernel", True, "6.1"),
        Check("gpu_present", value=float(len(known.gpus))),
        *per_gpu,
        *(Check(name, value=value) for name, value in speeds.items()),
    ]


@pytest.fixture
def requested(agent: Agent, hana: User) -> str:
    agent.sync()
    return request_self_test(actor_id=hana.pk, host_id=agent.host).pk.hex


def test_asked_for_until_it_is_answered(agent: Agent, requested: str) -> None:
    assert agent.sync().self_test == requested
    assert agent.sync().self_test == requested
    answer = report(self_test=SelfTestResult(requested, good_checks(agent.facts), 12.5))
    assert agent.sync(answer).self_test == "", "the answer's own reply asks no more"
    test = SelfTest.objects.get()
    assert (test.verdict, test.seconds, test.agent_version) == (Verdict.PASSED, 12.5, "0.1.0")
    assert Host.objects.get().verification == Verification.VERIFIED


def test_nothing_is_asked_of_a_host_that_owes_nothing(agent: Agent) -> None:
    assert agent.sync().self_test == ""


def test_an_answer_that_comes_twice_counts_once(agent: Agent, requested: str) -> None:
    answer = report(self_test=SelfTestResult(requested, good_checks(agent.facts)))
    agent.sync(answer)
    first = SelfTest.objects.get().finished_at
    agent.sync(report(self_test=SelfTestResult(requested, [])))
    test = SelfTest.objects.get()
    assert (test.finished_at, test.verdict) == (first, Verdict.PASSED)


def test_another_host_cannot_answer(enrolled: Callable[[], Agent], requested: str) -> None:
    other = enrolled()
    assert other.sync(report(self_test=SelfTestResult(requested, good_checks(other.facts)))).self_test == ""
    assert SelfTest.objects.get().verdict == Verdict.PENDING


def test_an_answer_that_nobody_asked_for_is_left_out(agent: Agent) -> None:
    agent.sync(report(self_test=SelfTestResult(uuid4().hex, good_checks(agent.facts))))
    assert not SelfTest.objects.exists()
    assert Host.objects.get().verification == Verification.UNVERIFIED


@pytest.mark.parametrize("test_id", ["", "x", "A" * 32, "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"])
def test_an_answer_without_an_id_answers_nothing(agent: Agent, requested: str, test_id: str) -> None:
    """The report around it counts: a host does not fall silent by it."""
    assert agent.sync(report(self_test=SelfTestResult(test_id, []), engine_age_s=2.5)).self_test == requested
    assert Host.objects.get(pk=agent.host).engine_age_s == 2.5
    assert "Report.self_test.id" in Incident.objects.get(kind="report_refused_in_part").detail


def test_facts_and_answer_in_one_report(agent: Agent, requested: str) -> None:
    """The self-test speaks for the hardware that the same report tells of."""
    grown = dataclasses.replace(
        agent.facts, driver="560.35", disk_read_mbps=3000, disk_write_mbps=2000, disk_measured_at=10**9
    )
    answer = report(facts=grown, self_test=SelfTestResult(requested, good_checks(grown)))
    agent.sync(answer)
    host = Host.objects.get()
    assert (host.verification, host.disk_read_mbps, host.disk_samples) == (Verification.VERIFIED, 3000, 1)


def test_the_question_costs_no_query_more(agent: Agent, requested: str) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert standing_of(agent.host).self_test is not None
    assert len(queries) == 1


def test_the_domains_shapes_are_the_wires_field_by_field() -> None:
    """ReportedHost and ReportedGpu mirror the protocol, which marketplace may not import: neither may lack a field."""
    for shape, message in ((ReportedHost, HostFacts), (ReportedGpu, GpuFacts)):
        pairs = zip(dataclasses.fields(shape), dataclasses.fields(message), strict=True)
        for own, wire in pairs:
            assert own.name == wire.name
            assert default_of(own) == default_of(wire), own.name
    known = facts(1)
    assert set(vars(known)) == {field.name for field in dataclasses.fields(ReportedHost)}


def default_of(field: dataclasses.Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
