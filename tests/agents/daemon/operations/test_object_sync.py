"""What rclone says in our words, what it is asked for, and what its container is not given."""

import json
from typing import Any

import pytest

from agents.daemon.disks.operation_runner import Operation
from agents.daemon.docker_engine.container_spec import EngineOptions
from agents.daemon.lib.errors import Failed
from agents.daemon.operations.object_sync import rclone_arguments, rclone_environment, simulated_syncs
from agents.daemon.operations.rclone_container import SyncContainerOrder, SyncContainerState, container_body
from agents.daemon.operations.rclone_log import SyncStats, failure_of, read_log
from agents.protocol.messages import OperationOrder
from agents.protocol.progress_messages import say

ARGS = {
    "direction": "up",
    "path": "models/a b",
    "remote": "bucket/berth/x",
    "delete": "",
    "endpoint": "https://s3.example.com",
    "region": "eu",
    "key_id": "AKIA",
    "secret": "hush",
    "virtual_host": "",
}


def line(**values: Any) -> bytes:
    return json.dumps(values).encode() + b"\n"


def test_figures_are_the_last_that_were_told() -> None:
    raw = b"no json\n[1]\n" + line(level="warning", stats={"bytes": 5, "totalBytes": 9, "transfers": 1, "totalTransfers": 3})
    raw += line(level="error", object="a", msg="Failed to copy: AccessDenied") + b"\xff\xfe half a li"
    log = read_log(raw)
    assert log.stats == SyncStats(done_bytes=5, total_bytes=9, copied_files=1, total_files=3)
    assert log.faults == ("a: Failed to copy: AccessDenied",)
    assert read_log(b"").stats is None


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ("AccessDenied: Access Denied status code: 403", "storage_login_refused"),
        ("write /disk/a: no space left on device", "disk_full"),
        ("preallocate: file too big for remaining disk space", "disk_full"),
        ("dial tcp 1.2.3.4:443: i/o timeout", "storage_unreachable"),
        ("NoSuchBucket: gone", "bucket_missing"),
    ],
)
def test_why_it_failed(lines: str, code: str) -> None:
    assert failure_of(1, [lines], ["hush"])[0] == code


def test_what_a_renter_reads_holds_no_login() -> None:
    lines = ["Attempt 1/3 failed", 'a: Put "https://x/y?X-Amz-Credential=AKIA&X-Amz-Signature=1": odd AKIA hush\x1b']
    code, detail = failure_of(1, lines, ["hush", "AKIA"])
    assert code == "sync_failed"
    assert not {"AKIA", "hush", "X-Amz-Signature", "\x1b"} & set(detail.split())
    assert "Signature" not in detail
    assert failure_of(3, [], []) == ("folder_missing", "There is no such folder to copy from.")


def test_what_rclone_is_asked_for() -> None:
    assert rclone_arguments(ARGS)[:3] == ("copy", "/disk/models/a b", "remote:bucket/berth/x")
    down = rclone_arguments({**ARGS, "direction": "down", "delete": "yes", "path": "", "remote": "bucket"})
    assert down[:3] == ("sync", "remote:bucket", "/disk")
    assert not any("hush" in word for word in down)
    values = rclone_environment({**ARGS, "virtual_host": "yes"})
    assert values["RCLONE_CONFIG_REMOTE_SECRET_ACCESS_KEY"] == "hush"
    assert values["RCLONE_CONFIG_REMOTE_FORCE_PATH_STYLE"] == "false"


@pytest.mark.parametrize(
    "changes", [{"path": "../etc"}, {"path": "/etc"}, {"remote": "Bucket/x"}, {"remote": "bucket/../x"}, {"path": "a\nb"}]
)
def test_what_no_control_plane_of_ours_would_ask(changes: dict[str, str]) -> None:
    with pytest.raises(Failed):
        rclone_arguments({**ARGS, **changes})
    with pytest.raises(Failed):
        rclone_environment({**ARGS, "secret": "two\nlines"})


def test_its_container_has_one_disk_and_nothing_else() -> None:
    order = SyncContainerOrder("a" * 32, "berth/sync:1", "/state/mounts/x", read_only=True, words=("copy",))
    body = container_body(order, EngineOptions("host", seccomp="{}"))
    assert body["HostConfig"]["CapAdd"] == ["DAC_OVERRIDE"]
    assert [mount["Source"] for mount in body["HostConfig"]["Mounts"]] == ["/state/mounts/x"]
    assert body["HostConfig"]["Mounts"][0]["ReadOnly"]
    assert body["Env"] == []
    assert "Binds" not in body["HostConfig"]
    assert "berth.host" not in body["Labels"], "it is no instance"


def test_which_ends_are_results() -> None:
    assert SyncContainerState(running=False, code=0).has_result
    assert SyncContainerState(running=False, code=137, out_of_memory=True).has_result
    assert not SyncContainerState(running=False, code=137).has_result, "the machine went down"
    assert not SyncContainerState(running=False, code=90).has_result, "it was not told its login"
    assert not SyncContainerState(running=False).has_result
    assert not SyncContainerState(running=True).has_result


def test_a_simulated_host_copies_nothing_and_says_so() -> None:
    work = Operation(OperationOrder("b" * 32, "sync_objects", ARGS), lambda urgent: None)
    assert simulated_syncs()["sync_objects"](work)["simulated"] == "true"
    assert "simulated" in work.seen.detail


def test_progress_in_files_is_told_when_it_changes() -> None:
    values: list[bool] = []
    work = Operation(OperationOrder("b" * 32, "sync_objects", ARGS), values.append)
    for files in ((0, 3), (1, 3), (1, 3), (2, 3)):
        work.progress(10, 100, say("copying"), files=files)
    assert len(values) == 3
    assert (work.seen.done_files, work.seen.total_files) == (2, 3)
