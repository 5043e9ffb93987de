"""Whose fault an end is, by a real engine: what is done to a container from outside, from inside, and with its engine."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from agents.protocol.messages import DesiredInstance
from tests.agents.daemon.market import Market, renamed
from tests.docker.conftest import Host, Ssh, eventually, host_maker
from tests.docker.second_engine import SecondEngine, build_tiny_image

pytestmark = pytest.mark.docker

TINY = "berth/tiny:test"
Outside = Callable[[Any, str], None]
FROM_OUTSIDE: dict[str, Outside] = {
    "docker kill": lambda engine, container: engine.kill(container),
    "docker kill -s TERM": lambda engine, container: engine.kill(container, "TERM"),
    "docker stop": lambda engine, container: engine.stop(container, timeout=1),
    "docker rm -f": lambda engine, container: engine.remove_container(container, force=True),
    "docker restart": lambda engine, container: engine.restart(container, timeout=1),
}
FROM_INSIDE = {
    "kill 1": "kill 1",
    "kill its child": "kill -9 -1",  # the first process ends with 137 then, as after `docker kill`
    "poweroff": "kill -PWR 1",
}


@pytest.mark.parametrize("name", FROM_OUTSIDE)
def test_fault_031_what_is_done_on_the_host_is_the_hosts_fault(host: Host, order: DesiredInstance, name: str) -> None:
    host.start()
    host.market.want(order)
    container = host.market.until_phase(order.id, "running", 1).container
    FROM_OUTSIDE[name](host.engine, container)
    assert host.market.until_phase(order.id, "exited", 1).failure_code in ("killed", "removed")
    reported = [row for report in host.market.reports for row in report.instances if row.id == order.id]
    assert {row.failure_code for row in reported} <= {"", "killed", "removed"}, "it was never anybody else's"
    host.market.want(replace(order, run="stopped"))
    host.market.until_phase(order.id, "stopped", 1)
    assert not any(item["State"] == "running" for item in host.containers(order))


@pytest.mark.parametrize("name", FROM_INSIDE)
def test_what_is_done_inside_is_not(host: Host, order: DesiredInstance, ssh: Ssh, name: str) -> None:
    """Also soon after a restart, whose own signals the engine has written down."""
    host.start()
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    again = renamed(order)
    host.market.want(again)
    host.market.until_phase(order.id, "running", 2)
    ssh.run(again, FROM_INSIDE[name])
    assert host.market.until_phase(order.id, "exited", 2).failure_code == "exited"


def test_an_exit_code_of_a_kill_is_no_kill(host: Host, order: DesiredInstance, ssh: Ssh) -> None:
    host.start()
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    time.sleep(2)
    ssh.run(order, "kill -9 $(pgrep -P 1)")
    ended = host.market.until_phase(order.id, "exited", 1)
    assert ended.failure_code == "exited"
    assert 2 <= ended.run_seconds < 60, "it is paid to its end"
    assert host.inspect(order)["State"]["ExitCode"] == 137


def test_memory_that_ran_out_long_ago_does_not_excuse_a_kill(host: Host, order: DesiredInstance, ssh: Ssh) -> None:
    host.start()
    host.market.want(replace(order, ram_mb=128))
    container = host.market.until_phase(order.id, "running", 1).container
    ssh.run(order, "perl -e '$x = \"a\" x 400_000_000; sleep 1'; tail /dev/zero", timeout=60)
    host.engine.kill(container)
    assert host.market.until_phase(order.id, "exited", 1).failure_code == "killed"


@pytest.mark.parametrize(("end", "code"), [("outside", "killed"), ("inside", "exited")])
def test_an_agent_that_was_away_asks_the_engine(host: Host, order: DesiredInstance, ssh: Ssh, end: str, code: str) -> None:
    host.start()
    host.market.want(order)
    container = host.market.until_phase(order.id, "running", 1).container
    host.stop()
    if end == "outside":
        host.engine.kill(container)
    else:
        ssh.run(order, "kill -9 -1")
    eventually(lambda: host.inspect(order)["State"]["Status"] == "exited", "it ends")
    host.start()
    assert host.market.until_phase(order.id, "exited", 1).failure_code == code


def test_sshd_moved_away_is_no_failed_restart(host: Host, order: DesiredInstance, ssh: Ssh) -> None:
    """It runs on, and is paid for; a fresh root from the market's own image must answer all the same."""
    host.start()
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    ssh.must(order, "mv /usr/sbin/sshd /usr/sbin/sshd.away")
    again = renamed(order, untouched=False)
    host.market.want(again)
    assert host.market.until_phase(order.id, "running", 2, patience=20).failure_code == ""
    assert ssh.run(again, "true").returncode != 0


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Iterator[SecondEngine]:
    with SecondEngine() as engine:
        build_tiny_image(TINY, engine.socket)
        monkeypatch.setenv("DOCKER_HOST", engine.socket)
        yield engine


@pytest.fixture
def host_there(there: SecondEngine, market: Market, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with closing(there.client()) as client:
        for make in host_maker(client, tmp_path_factory):
            yield make(market)


# Docker's client leaves a socket open where nobody listens: until the engine is back, that is every call.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("watched", [True, False])
def test_an_engine_that_is_restarted_takes_the_blame(
    there: SecondEngine, host_there: Host, new_order: Callable[..., DesiredInstance], *, watched: bool
) -> None:
    """Whether the agent was there or not; a program that ends by itself on being told so has the exit code 0."""
    host, market = host_there, host_there.market
    host.start()
    wanted = new_order(host, image=TINY, has_ssh=False, data_disk_gb=0)
    market.want(wanted)
    market.until_phase(wanted.id, "running", 1)
    if not watched:
        host.stop()
    there.restart()
    if not watched:
        host.start()
    assert market.until_phase(wanted.id, "exited", 1).failure_code == "engine_restarted"
    assert host.inspect(wanted)["State"]["ExitCode"] == 0
    market.want(replace(wanted, run="gone"))
    market.until_absent(wanted.id)
    host.stop()
    gc.collect()
