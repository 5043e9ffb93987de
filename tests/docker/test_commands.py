"""One-shot commands in a real container: input, output, exit codes, ends by time, and agents that die meanwhile."""

import base64
import json
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agents.daemon.docker_engine import exec_processes
from agents.daemon.operations.command_streams import OUTPUT_BYTES
from agents.daemon.operations.run_command import AT_ONCE
from agents.protocol.launch_messages import Launch
from agents.protocol.messages import DesiredInstance, ObservedOperation, OperationOrder
from tests.agents.daemon.market import Market
from tests.docker.conftest import Host, eventually

pytestmark = pytest.mark.docker


class Box:
    """A running instance, and what its renter asks of it."""

    def __init__(self, host: Host, order: DesiredInstance) -> None:
        self.host, self.market, self.order = host, host.market, order

    def new(self, *words: str, stdin: bytes = b"", timeout_s: float = 30, **more: Any) -> OperationOrder:
        args = {
            "instance": self.order.id,
            "command": json.dumps(words),
            "env": json.dumps(more.pop("env", {})),
            "stdin": base64.b64encode(stdin).decode(),
            "timeout_s": str(timeout_s),
        }
        return OperationOrder(uuid.uuid4().hex, "run_command", {**args, **more})

    def ended(self, order: OperationOrder) -> ObservedOperation:
        self.market.ask(order)
        row = self.market.until_ended(order)
        self.market.ask()
        return row

    def run(self, *words: str, **more: Any) -> dict[str, Any]:
        row = self.ended(self.new(*words, **more))
        assert row.phase == "done", row
        found = {name: base64.b64decode(row.outcome[name]) for name in ("stdout", "stderr")}
        return {**row.outcome, **found}

    def says(self, script: str, **more: Any) -> str:
        return str(self.run("sh", "-c", script, **more)["stdout"].decode())

    def count(self, name: str) -> int:
        """How many processes of this name run in it."""
        processes = self.host.engine.top(self.host.inspect(self.order)["Id"], "-eo pid,cmd")
        assert processes["Titles"] == ["PID", "CMD"]
        return sum(name in row[1] for row in processes["Processes"])


@pytest.fixture(scope="module")
def box(new_module_host: Callable[[Market], Host], new_order: Callable[..., DesiredInstance]) -> Iterator[Box]:
    with Market() as market:
        host = new_module_host(market)
        host.start()
        market.until(lambda report: report.facts is not None)
        launch = Launch(env={"PLAIN": "in the image's place"}, secrets={"TOKEN": "it's\nsecret"}, secrets_digest="1")
        order = new_order(host, launch=launch)
        market.want(order)
        market.until_phase(order.id, "running")
        yield Box(host, order)
        market.want(DesiredInstance(**{**vars(order), "run": "gone"}))
        market.until_absent(order.id)


def test_exit_code_and_both_streams(box: Box) -> None:
    found = box.run("sh", "-c", "echo out; echo err >&2; exit 7")
    assert (found["exit_code"], found["stdout"], found["stderr"]) == ("7", b"out\n", b"err\n")
    assert (found["timed_out"], found["stdout_cut"], found["stderr_cut"]) == ("", "", "")
    assert int(found["duration_ms"]) < 20_000
    words = box.run("printf", "[%s]", "a b", "$HOME", "'", "", "数据")
    assert words["stdout"].decode() == "[a b][$HOME]['][][数据]"
    assert box.run("cat", stdin=bytes(range(256)) * 200)["stdout"] == bytes(range(256)) * 200


def test_user_folder_and_variables(box: Box) -> None:
    assert (
        box.says("id -un; pwd; echo $EXTRA", user="nobody", workdir="/tmp", env={"EXTRA": "a $b"}) == "nobody\n/tmp\na $b\n"
    )
    assert box.says('id -un; echo "$PLAIN|$TOKEN"') == "root\nin the image's place|it's\nsecret\n"


def test_what_cannot_begin(box: Box) -> None:
    missing = box.run("no-such-program")
    assert missing["exit_code"] in ("126", "127")  # by the engine's version
    assert box.run("true", user="nobody-at-all")["exit_code"] in ("126", "127")
    assert box.run("true", workdir="/no/such/folder")["exit_code"] in ("126", "127")


def test_a_long_output_is_cut_and_drained(box: Box) -> None:
    found = box.run("sh", "-c", "head -c 3000000 /dev/zero; head -c 500000 /dev/zero >&2; echo done > /tmp/whole")
    assert (found["exit_code"], len(found["stdout"]), len(found["stderr"])) == ("0", OUTPUT_BYTES, OUTPUT_BYTES)
    assert (found["stdout_cut"], found["stderr_cut"]) == ("yes", "yes")
    assert box.says("cat /tmp/whole") == "done\n"


def test_several_long_results_do_not_burst_a_report(box: Box) -> None:
    script = "head -c 300000 /dev/urandom; head -c 300000 /dev/urandom >&2"
    orders = sorted((box.new("sh", "-c", script) for _ in range(4)), key=lambda order: order.id)  # as they are reported
    box.market.ask(*orders)
    while orders:
        row = box.market.until_ended(orders[0])
        sizes = [len(text) for row in box.market.reports[-1].operations for text in row.outcome.values()]
        assert row.phase == "done" and sum(sizes) < 1_500_000
        orders.pop(0)
        box.market.ask(*orders)


def test_who_does_not_read_its_input_is_not_waited_for(box: Box) -> None:
    assert box.run("true", stdin=b"x" * 65_536)["exit_code"] == "0"


def test_what_is_left_in_the_background_is_not_waited_for(box: Box) -> None:
    began = time.monotonic()
    found = box.run("sh", "-c", "sleep 12345 & while :; do echo more; sleep 0.05; done & echo first", timeout_s=60)
    assert (found["exit_code"], b"first\n" in found["stdout"]) == ("0", True)
    assert time.monotonic() - began < 30
    box.says("pkill -f 'sleep 12345'; pkill -f 'echo more'; true")


STUBBORN = (
    "trap '' TERM; (sleep 7777; true) & env -i sleep 7777 & setsid sleep 7777 & echo begun; while :; do sleep 7777; done"
)


def test_a_command_that_takes_too_long_is_ended_with_all_that_it_started(box: Box) -> None:
    found = box.run("sh", "-c", STUBBORN, timeout_s=2)
    assert (found["timed_out"], found["stdout"]) == ("yes", b"begun\n")
    assert 2_000 <= int(found["duration_ms"]) < 20_000
    assert box.count("sleep 7777") == 0
    assert box.run("sh", "-c", "exec sleep 7777", timeout_s=1)["exit_code"] in ("143", "137")


def test_an_agent_that_does_not_see_the_processes_ends_it_from_inside(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exec_processes, "sees_container", lambda *_: False)
    found = box.run("sh", "-c", "trap '' TERM; sleep 7777 & while :; do sleep 7777; done", timeout_s=1)
    assert (found["timed_out"], box.count("sleep 7777")) == ("yes", 0)


def test_a_command_that_is_no_longer_wanted_is_ended(box: Box) -> None:
    order = box.new("sh", "-c", "while :; do sleep 7777; done", timeout_s=600)
    box.market.ask(order)
    eventually(lambda: box.count("sleep 7777") > 0, "it runs")
    box.market.ask()
    eventually(lambda: box.count("sleep 7777") == 0, "it is ended")
    eventually(lambda: not list((box.host.state / "commands").iterdir()), "nothing is kept of it")


def test_too_many_at_once(box: Box) -> None:
    orders = [box.new("sleep", "7777", timeout_s=600) for _ in range(AT_ONCE + 1)]
    box.market.ask(*orders)
    report = box.market.until(lambda report: any(row.failure_code for row in report.operations))
    assert [row.failure_code for row in report.operations if row.failure_code] == ["too_many_commands"]
    box.market.ask()
    eventually(lambda: box.count("sleep 7777") == 0, "all are ended")
    eventually(lambda: box.ended(box.new("true")).phase == "done", "there is room again")


def test_a_stopped_instance_runs_nothing(box: Box) -> None:
    order = box.new("true", instance=uuid.uuid4().hex)
    assert box.ended(order).failure_code == "not_running"


def test_what_nobody_names_after_a_restart_is_ended(box: Box) -> None:
    box.host.stop()
    order = box.new("sh", "-c", "while :; do sleep 7777; done", timeout_s=600)
    box.market.ask(order)
    box.host.run_until_killed("command-started")
    assert box.count("sleep 7777") >= 0
    box.market.ask()
    box.host.start()
    eventually(lambda: not list((box.host.state / "commands").iterdir()), "nothing is kept of it")
    assert box.count("sleep 7777") == 0
