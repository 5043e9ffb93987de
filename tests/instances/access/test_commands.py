"""One-shot commands through the API: what is asked of the host, told of its answers, kept, refused, and nobody else's."""

import base64
import json
from datetime import timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.db import IntegrityError, transaction
from django.test import Client, override_settings
from pytest_django import DjangoCaptureOnCommitCallbacks

from accounts.models import RememberedReply, User
from common import change_counters, clock
from instances.access import commands
from instances.constants import COMMAND_OUTPUTS_KEPT, COMMANDS_AT_ONCE, COMMANDS_PER_MINUTE
from instances.epochs.services import begin_epoch
from instances.host_reports.operation_results import apply_results
from instances.models import CommandRun, Instance, InstanceEvent
from storage.models import Operation
from storage.operations.selectors import desired_operations
from storage.operations.services import OperationRow, fail_overdue, record_operations
from tests.host_messages import with_message
from tests.instances.fake_host import FakeHost, order_running
from tests.instances.fixtures import Clock, Sign
from tests.instances.test_api import path, post
from tests.stored_rows import stored_text

SECRET = "hunter22-very-secret"


@pytest.fixture
def api(rin: User, sign: Sign) -> Client:
    return sign(rin)


@pytest.fixture
def running(rin: User, host: FakeHost) -> Instance:
    return order_running(rin, host)


def run(api: Client, instance: Instance, key: str | None = None, **body: Any) -> Any:
    return post(api, path(instance, "/exec"), {"command": ["true"], **body}, key=key)


def result(api: Client, instance: Instance, made: Any) -> Any:
    return api.get(path(instance, f"/exec/{made['id']}")).json()


def b64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def answer(host: FakeHost, stdout: bytes = b"", stderr: bytes = b"", **more: Any) -> None:
    """The host's agent ends the command that it was asked for."""
    record(host, stdout, stderr, **more)
    apply_results()


def record(host: FakeHost, stdout: bytes = b"", stderr: bytes = b"", **more: Any) -> None:
    """The end is reported, and not applied yet."""
    operation = Operation.objects.filter(kind="run_command", ended_at=None).earliest("created_at")
    outcome = {"exit_code": "0", "stdout": b64(stdout), "stderr": b64(stderr), "duration_ms": "1500"}
    outcome |= more.pop("outcome", {})
    row = OperationRow(operation.pk, **with_message({"phase": "done", "outcome": outcome, **more}))
    record_operations(host_id=host.host.pk, rows=[row], at=clock.now())


def test_a_command_is_asked_of_the_host_and_its_result_told(api: Client, host: FakeHost, running: Instance) -> None:
    reply = run(
        api,
        running,
        command=["/usr/bin/python3", "-c", SECRET],
        stdin=SECRET,
        env={"TOKEN": SECRET},
        user=1000,
        workdir="/work",
        timeout_seconds=5,
    )
    made = reply.json()
    assert (reply.status_code, made["state"], made["exit_code"], made["stdout"]) == (201, "pending", None, None)
    (order,) = desired_operations(host.host.pk)
    assert order.kind == "run_command"
    assert (json.loads(order.args["command"]), json.loads(order.args["env"])) == (
        ["/usr/bin/python3", "-c", SECRET],
        {"TOKEN": SECRET},
    )
    assert (order.args["user"], order.args["workdir"], order.args["timeout_s"]) == ("1000", "/work", "5")
    assert base64.b64decode(order.args["stdin"]).decode() == SECRET

    answer(host, b"out\n\0", "数据".encode(), outcome={"exit_code": "3", "stdout_cut": "yes"})
    found = result(api, running, made)
    assert (found["state"], found["exit_code"], found["timed_out"], found["duration_seconds"]) == ("exited", 3, False, 1.5)
    assert (found["stdout"], found["stdout_encoding"], found["stdout_truncated"]) == ("out\n\0", "utf-8", True)
    assert (found["stderr"], found["stderr_truncated"], found["failure"]) == ("数据", False, None)
    assert found["expires_at"] > found["ended_at"] >= found["created_at"]


def test_who_waits_is_woken_once_the_result_is_there(
    api: Client, host: FakeHost, running: Instance, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    run(api, running)
    operation = Operation.objects.get(kind="run_command")
    row = OperationRow(operation.pk, "done", outcome={"exit_code": "0", "duration_ms": "1"})
    record_operations(host_id=host.host.pk, rows=[row], at=clock.now())
    before = change_counters.version_of(f"user:{running.renter_id.hex}")
    with django_capture_on_commit_callbacks(execute=True):
        apply_results()
    assert change_counters.version_of(f"user:{running.renter_id.hex}") > before


def test_neither_the_request_nor_the_output_is_kept_in_the_clear(api: Client, host: FakeHost, running: Instance) -> None:
    made = run(api, running, key="k", command=["/bin/echo", SECRET], stdin=SECRET, env={"TOKEN": SECRET}).json()
    operation = Operation.objects.get(kind="run_command")
    assert SECRET not in json.dumps(operation.args) + operation.sealed_args
    answer(host, SECRET.encode())
    assert not Operation.objects.filter(pk=operation.pk).exists()
    row = CommandRun.objects.get()
    assert SECRET not in repr(vars(row)) and b64(SECRET.encode()) not in row.sealed_output
    assert SECRET not in repr(list(RememberedReply.objects.values()))
    events = api.get(path(running, "/events")).content.decode()
    assert "echo" in events and SECRET not in events
    assert list(InstanceEvent.objects.filter(kind="command_run").values_list("actor", "detail")) == [("renter", "echo")]
    assert result(api, running, made)["stdout"] == SECRET


def test_an_output_is_encrypted_before_it_is_stored(api: Client, host: FakeHost, running: Instance) -> None:
    """It is recorded with the report, and moved to the command in a transaction of its own."""
    made = run(api, running).json()
    record(host, SECRET.encode(), SECRET.encode())
    assert stored_text("storage_operation", SECRET, b64(SECRET.encode())) == []
    apply_results()
    assert stored_text("instances_commandrun", SECRET, b64(SECRET.encode())) == []
    found = result(api, running, made)
    assert (found["stdout"], found["stderr"], found["exit_code"]) == (SECRET, SECRET, 0)


def test_an_output_that_the_previous_version_recorded_is_read(api: Client, host: FakeHost, running: Instance) -> None:
    """During an upgrade the jobs are the first to have this version (docs/operations.md, Migrations without downtime)."""
    made = run(api, running).json()
    record(host)
    in_the_clear = {"exit_code": "0", "stdout": b64(b"out"), "stderr": "", "duration_ms": "1500"}
    Operation.objects.filter(kind="run_command").update(outcome=in_the_clear)
    assert apply_results() == 1
    found = result(api, running, made)
    assert (found["state"], found["exit_code"], found["stdout"]) == ("exited", 0, "out")


def test_an_end_under_another_key_is_said_to_be_unreadable(api: Client, host: FakeHost, running: Instance) -> None:
    made = run(api, running).json()
    record(host, b"out")
    with override_settings(SECRET_KEY="another"):
        assert apply_results() == 1
    found = result(api, running, made)
    assert (found["state"], found["exit_code"], found["stdout"]) == ("unknown", None, None)
    assert found["failure"]["code"] == "output_unreadable" and "can't be decrypted" in found["failure"]["detail"]


def test_an_output_under_another_key_is_said_to_be_unreadable(api: Client, host: FakeHost, running: Instance) -> None:
    """Its end is known, and stays so; only what it wrote is lost, which is not the same as nothing."""
    made = run(api, running).json()
    answer(host, b"out", outcome={"exit_code": "3"})
    CommandRun.objects.update(sealed_output=Fernet(Fernet.generate_key()).encrypt(b"[]").decode())
    found = result(api, running, made)
    assert (found["state"], found["exit_code"], found["stdout"], found["stderr"]) == ("exited", 3, None, None)
    assert found["failure"]["code"] == "output_unreadable" and "can't be decrypted" in found["failure"]["detail"]


def test_a_failure_is_told_under_any_key(api: Client, host: FakeHost, running: Instance) -> None:
    made = run(api, running).json()
    record(host, phase="failed", failure_code="agent_restarted", detail="The agent restarted.")
    with override_settings(SECRET_KEY="another"):
        assert apply_results() == 1
    assert result(api, running, made)["failure"]["code"] == "agent_restarted"


def test_a_key_runs_it_once(api: Client, running: Instance) -> None:
    first = run(api, running, key="one", stdin="a")
    assert run(api, running, key="one", stdin="a").json() == first.json()
    assert CommandRun.objects.count() == Operation.objects.filter(kind="run_command").count() == 1
    assert run(api, running, key="one", stdin="b").status_code == 422
    assert post(api, path(running, "/exec?dry_run=true"), {"command": "true"}).status_code == 200
    assert CommandRun.objects.count() == 1


@pytest.mark.parametrize(
    ("content", "is_cut", "text", "encoding"),
    [
        (b"\xff\xfe", "", "//4=", "base64"),
        ("ab数".encode()[:-1], "yes", "ab", "utf-8"),
        ("ab数".encode()[:-1], "", b64("ab数".encode()[:-1]), "base64"),
        (b"\xffabcdef", "yes", b64(b"\xffabcdef"), "base64"),
        (b"", "", "", "utf-8"),
    ],
)
def test_bytes_that_are_no_text(
    api: Client, host: FakeHost, running: Instance, content: bytes, is_cut: str, *, text: str, encoding: str
) -> None:
    made = run(api, running).json()
    answer(host, content, outcome={"stdout_cut": is_cut})
    found = result(api, running, made)
    assert (found["stdout"], found["stdout_encoding"]) == (text, encoding)


@pytest.mark.parametrize(
    ("failed", "state", "code"),
    [
        ("agent_restarted", "unknown", "agent_restarted"),
        ("command_lost", "unknown", "command_lost"),
        ("operation_failed", "unknown", "command_lost"),
        ("unknown_operation", "failed", "agent_too_old"),
        ("command_refused", "failed", "command_refused"),
        ("not_running", "failed", "not_running"),
    ],
)
def test_why_there_is_no_exit_code(
    api: Client, host: FakeHost, running: Instance, failed: str, *, state: str, code: str
) -> None:
    made = run(api, running).json()
    answer(host, phase="failed", failure_code=failed, detail="The host's word.", outcome={})
    found = result(api, running, made)
    assert (found["state"], found["failure"]["code"], found["exit_code"]) == (state, code, None)
    assert "The host's word." in found["failure"]["detail"]
    assert (found["stdout"], found["stderr"]) == (None, None)


def test_a_time_that_is_over(api: Client, host: FakeHost, running: Instance) -> None:
    made = run(api, running, timeout_seconds=1).json()
    answer(host, b"begun", outcome={"exit_code": "", "timed_out": "yes"})
    found = result(api, running, made)
    assert (found["state"], found["timed_out"], found["exit_code"], found["stdout"]) == ("timed_out", True, None, "begun")


def test_a_host_that_never_answers(api: Client, host: FakeHost, running: Instance, hours: Clock) -> None:
    made = run(api, running, timeout_seconds=30).json()
    hours.advance(seconds=89)
    assert fail_overdue(now=clock.now()) == 0
    hours.advance(seconds=2)
    assert fail_overdue(now=clock.now()) == 1
    apply_results()
    found = result(api, running, made)
    assert (found["state"], found["failure"]["code"]) == ("unknown", "host_silent")
    assert desired_operations(host.host.pk) == []


def test_after_a_restore_no_host_is_asked_again(api: Client, host: FakeHost, running: Instance) -> None:
    """The backup knows the command as open, and the host may have run it since."""
    made = run(api, running, timeout_seconds=3600).json()
    begin_epoch(reason="restored")
    assert desired_operations(host.host.pk) == []
    apply_results()
    found = result(api, running, made)
    assert (found["state"], found["failure"]["code"]) == ("unknown", "command_lost")


def test_what_is_refused(api: Client, host: FakeHost, running: Instance, hours: Clock) -> None:
    for wrong, field in (
        ({"command": []}, "command"),
        ({"command": ""}, "command"),
        ({"command": [""]}, "command[0]"),
        ({"command": ["a", 1]}, "command[1]"),
        ({"command": ["x" * 40_000]}, "command[0]"),
        ({"env": {"BERTH_EXEC": "x"}}, "env.BERTH_EXEC"),
        ({"env": {"A=B": "x"}}, "env"),
        ({"stdin": "x" * 65_537}, "stdin"),
        ({"stdin": "?", "stdin_encoding": "base64"}, "stdin"),
        ({"workdir": "relative"}, "workdir"),
        ({"user": "root; id"}, "user"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"timeout_seconds": 3601}, "timeout_seconds"),
    ):
        reply = run(api, running, **wrong)
        assert (reply.status_code, reply.json()["errors"][0]["field"]) == (400, field), wrong
    hours.advance(minutes=5)
    silent = run(api, running)
    assert (silent.status_code, silent.json()["code"]) == (409, "host_silent")
    host.sync()
    post(api, path(running, "/stop"))
    stopping = run(api, running)
    assert (stopping.status_code, stopping.json()["code"]) == (409, "not_running")
    assert not CommandRun.objects.exists() and not InstanceEvent.objects.filter(kind="command_run").exists()


def test_a_few_at_once_and_not_too_often(api: Client, host: FakeHost, running: Instance, hours: Clock) -> None:
    for _ in range(COMMANDS_AT_ONCE):
        assert run(api, running).status_code == 201
    full = run(api, running)
    assert (full.status_code, full.json()["code"]) == (409, "too_many_commands")
    for _ in range(COMMANDS_PER_MINUTE - COMMANDS_AT_ONCE):
        answer(host)
        assert run(api, running).status_code == 201
    answer(host)
    often = run(api, running)
    assert (often.status_code, often.json()["code"], often.headers["Retry-After"]) == (429, "too_often", "60")
    hours.advance(seconds=61)
    host.sync()
    assert run(api, running).status_code == 201


def test_a_command_is_cancelled_and_erased(api: Client, host: FakeHost, running: Instance) -> None:
    made = run(api, running).json()
    address = path(running, f"/exec/{made['id']}")
    for _ in range(2):
        found = api.delete(address).json()
        assert (found["state"], found["failure"], found["exit_code"]) == ("cancelled", None, None)
    assert desired_operations(host.host.pk) == []
    apply_results()
    assert not Operation.objects.filter(kind="run_command").exists()
    assert InstanceEvent.objects.filter(kind="command_cancelled").count() == 1

    ended = run(api, running).json()
    answer(host, b"out")
    assert api.delete(path(running, f"/exec/{ended['id']}")).json()["stdout"] is None
    assert result(api, running, ended)["state"] == "exited"


def test_results_are_deleted(api: Client, host: FakeHost, running: Instance, hours: Clock) -> None:
    every = []
    for number in range(COMMAND_OUTPUTS_KEPT + 1):
        every.append(run(api, running).json())
        hours.advance(seconds=1)
        answer(host, str(number).encode())
    assert (result(api, running, every[0])["stdout"], result(api, running, every[1])["stdout"]) == (None, "1")
    open_one = run(api, running, timeout_seconds=3600).json()
    hours.advance(minutes=61)
    assert commands.delete_old_commands(now=clock.now()) == len(every)
    assert api.get(path(running, f"/exec/{every[1]['id']}")).status_code == 404
    assert result(api, running, open_one)["state"] == "pending"


def test_commands_are_the_renters_own_and_need_the_scope(
    rin: User, bob: User, sign: Sign, host: FakeHost, running: Instance
) -> None:
    api = sign(rin)
    made = run(api, running).json()
    answer(host, b"out")
    address = path(running, f"/exec/{made['id']}")
    other_user = sign(bob)
    assert run(other_user, running).status_code == other_user.get(address).status_code == 404
    assert other_user.delete(address).status_code == 404
    other = order_running(rin, host)
    assert api.get(path(other, f"/exec/{made['id']}")).status_code == 404
    narrow = sign(rin, "instances:read", "instances:write")
    for reply in (run(narrow, running), narrow.get(address), narrow.delete(address)):
        assert (reply.status_code, reply.json()["code"]) == (403, "missing_scope")
    assert run(sign(rin, "instances:connect"), running).status_code == 201
    assert result(api, running, made)["stdout"] == "out"


def test_the_database_keeps_results_and_ends_together(api: Client, running: Instance) -> None:
    run(api, running)
    for wrong in (
        {"exit_code": 0},
        {"sealed_output": "x"},
        {"failure_code": "x"},
        {"ended_at": clock.now() + timedelta(seconds=1)},
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            CommandRun.objects.update(**wrong)
