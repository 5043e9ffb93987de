"""An engine that hangs, restarts, or is killed under its agent: what is not known is not claimed, nothing is made twice."""

import gc
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from agents.daemon import agent
from agents.daemon.docker_engine import runtime
from agents.protocol.messages import DesiredInstance
from tests.agents.daemon.market import Market, renamed
from tests.docker.conftest import Host, eventually, host_maker
from tests.docker.second_engine import SecondEngine, build_tiny_image

pytestmark = [
    pytest.mark.docker,
    # Docker's client leaves a socket open where nobody listens: until the engine is back, that is every call.
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"),
]

TINY = "berth/tiny:test"
NewOrder = Callable[..., DesiredInstance]


@pytest.fixture
def there(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Iterator[SecondEngine]:
    """An engine of its own, with the options that the test is marked with."""
    monkeypatch.setattr(agent, "UNKNOWN_AFTER", 0.5)
    monkeypatch.setattr(runtime, "READ_TIMEOUT", 1.0)
    with SecondEngine(options=getattr(request, "param", ())) as engine:
        build_tiny_image(TINY, engine.socket)
        monkeypatch.setenv("DOCKER_HOST", engine.socket)
        yield engine
    for phase in ("setup", "call", "teardown"):  # errors in what was logged keep those sockets for a later test
        caplog.get_records(phase).clear()
    gc.collect()


@pytest.fixture
def host(there: SecondEngine, market: Market, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    market.report_interval_s = 1.0
    with closing(there.client()) as client:
        for make in host_maker(client, tmp_path_factory):
            yield make(market)


@pytest.fixture
def order(host: Host, new_order: NewOrder) -> DesiredInstance:
    return new_order(host, image=TINY, has_ssh=False, data_disk_gb=0, ports=[])


def run(host: Host, order: DesiredInstance) -> tuple[int, str]:
    """Its first process and when it began."""
    host.start()
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    return standing(host, order)


def standing(host: Host, order: DesiredInstance) -> tuple[int, str]:
    state = host.inspect(order)["State"]
    return state["Pid"], state["StartedAt"]


def phases_since(host: Host, report_count: int) -> set[str]:
    return {row.phase for report in host.market.reports[report_count:] for row in report.instances}


def test_fault_026_nothing_starts_after_a_restart_until_the_market_has_said_so(
    there: SecondEngine, host: Host, order: DesiredInstance
) -> None:
    """The engine starts nothing by itself, and the agent nothing by what it remembers."""
    run(host, order)
    assert host.inspect(order)["HostConfig"]["RestartPolicy"]["Name"] == "no"
    host.stop()
    there.restart()
    assert host.inspect(order)["State"]["Status"] == "exited"
    host.market.trouble = ["503"] * 1000
    host.start()
    eventually(lambda: len(host.market.trouble) < 998, "it has asked twice")
    assert host.inspect(order)["State"]["Status"] == "exited"
    assert len(host.containers(order)) == 1

    report_count = len(host.market.reports)
    host.market.trouble = []
    assert host.market.until_phase(order.id, "exited", 1).failure_code == "engine_restarted"
    assert len(host.market.reports) > report_count and host.inspect(order)["State"]["Status"] == "exited"
    stale = replace(order, fence=0, generation=2)
    host.market.want(stale)
    report_count = len(host.market.reports)
    host.market.until(lambda _: len(host.market.reports) >= report_count + 2)
    assert host.inspect(order)["State"]["Status"] == "exited", "a fence from before says nothing"
    again = renamed(order)
    host.market.want(again)
    host.market.until_phase(order.id, "running", 2)
    [container] = host.containers(order)
    assert container["State"] == "running"


def test_fault_028_an_engine_that_hangs_is_told_with_its_age(
    there: SecondEngine, host: Host, order: DesiredInstance
) -> None:
    """From 60 s on the market rents nothing out there: see tests/marketplace/hosts/test_hosts.py."""
    before = run(host, order)
    there.signal(signal.SIGSTOP)
    slow = host.market.until(lambda report: report.engine_age_s > 3.0)
    assert {row.phase for row in slow.instances} == {"unknown"}
    grown = host.market.until(lambda report: report.engine_age_s > slow.engine_age_s + 1.0)
    assert grown.engine_age_s > slow.engine_age_s, "it grows, and the agent goes on reporting"
    host.market.want(replace(order, generation=1, run="stopped"))
    report_count = len(host.market.reports)
    there.signal(signal.SIGCONT)
    host.market.until_phase(order.id, "stopped", 1)
    assert host.market.reports[-1].engine_age_s == 0.0
    assert "exited" not in phases_since(host, report_count)
    assert before[1] == host.inspect(order)["State"]["StartedAt"]


@pytest.mark.parametrize("there", [("--live-restore",)], indirect=True)
@pytest.mark.parametrize("end", ["restarted", "killed"])
def test_fault_029_an_engine_that_restores_is_the_same_run(
    there: SecondEngine, host: Host, order: DesiredInstance, end: str
) -> None:
    before, report_count = run(host, order), len(host.market.reports)
    if end == "restarted":
        there.restart()
    else:
        there.kill()
        there.start_again()
    known = len(host.market.reports)
    host.market.until(lambda report: len(host.market.reports) > known and report.engine_age_s == 0.0)
    row = host.market.until_phase(order.id, "running", 1)
    assert standing(host, order) == before
    assert phases_since(host, report_count) <= {"running", "unknown"}, "it never ended, and was never said to"
    assert row.run_seconds > 0 and len(host.containers(order)) == 1


def test_fault_030_an_engine_that_is_killed_leaves_nothing_to_be_made_again(
    there: SecondEngine, host: Host, order: DesiredInstance
) -> None:
    """Its containerd and its containers are still there. While it does not answer nothing is claimed of them; after that
    they are what it says that they are."""
    run(host, order)
    there.kill()
    down = host.market.until(lambda report: report.engine_age_s > 2.0)
    assert [(row.phase, row.failure_code) for row in down.instances] == [("unknown", "")]
    host.market.want(renamed(order))  # what is asked meanwhile has to wait
    host.market.until(lambda report: report.engine_age_s > down.engine_age_s + 2.0)
    there.start_again()
    row = host.market.until_phase(order.id, "running", 2)
    [container] = host.containers(order)
    assert (container["Id"], container["State"]) == (row.container, "running")
    gone = renamed(renamed(order), run="gone")
    host.market.want(gone)
    host.market.until_absent(order.id)
    assert host.containers(order) == []
