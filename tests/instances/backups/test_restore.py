"""`manage.py restore` on a database of its own: what it meets there, and what a backup of another time becomes."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import override_settings

from billing.ledger.anchors import anchor_name, anchor_text
from common.backup_folder import MANIFEST, BadBackup, read_manifest
from common.db.postgres_client import TOOLS, postgres_client
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[3]
NAME = "berth_restored"
OTHERS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND backend_type = 'client backend'"
)


@dataclass(frozen=True)
class Database:
    """An empty database beside the test's own, for its owner."""

    url: str

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(psycopg2.connect(self.url)) as link, link.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()

    def begin(self, *words: str, group: bool = False, **settings: str) -> subprocess.Popen[str]:
        """`manage.py` on it; `group`: with what it starts in a group of processes of its own."""
        return self._begin([sys.executable, "manage.py", *words], settings, group)

    def in_small_place(self, place: Path, size: str, command: str) -> tuple[int, str]:
        """A shell's words behind `manage.py`, where a disk of this size is mounted that nobody else sees."""
        leave = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        manage = f"{sys.executable} manage.py"
        script = f"mount -t tmpfs -o size={size} none {place} && {manage} {command}"
        with self._begin([*leave, "sh", "-c", script], {"MANAGE": manage}, False) as running:
            stdout, complained = running.communicate()
        return running.returncode, complained + stdout

    def _begin(self, command: list[str], settings: dict[str, str], group: bool) -> subprocess.Popen[str]:
        env = os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings.test", "DATABASE_URL": self.url} | settings
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, cwd=ROOT, env=env, start_new_session=group, **pipes)

    def manage(self, *words: str, **settings: str) -> tuple[int, str]:
        """The command's exit status and all that it said."""
        running = self.begin(*words, group=False, **settings)
        stdout, complained = running.communicate()
        return running.returncode, stdout + complained


@pytest.fixture
def database(services: None) -> Iterator[Database]:
    server, name = os.environ["DATABASE_URL"], f"{NAME}_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
    with closing(psycopg2.connect(server)) as link:
        link.autocommit = True
        with link.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name}")
            yield Database(server.replace("/postgres?", f"/{name}?"))
            cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    call_command("backup", "--to", str(tmp_path / "backups"), stdout=StringIO())
    (made,) = (tmp_path / "backups").iterdir()
    return made


def test_of_two_restores_at_once_the_second_is_refused(database: Database, backup: Path, tmp_path: Path) -> None:
    """The first has made its checks and is about to write: no other connection shows that it is there."""
    held, begun, go = tmp_path / "held", tmp_path / "begun", tmp_path / "go"
    held.mkdir()
    os.mkfifo(go)
    tools = postgres_client().folder
    for tool in TOOLS:
        waits = f"touch {begun}; read _ < {go}; " if tool == "psql" else ""
        (held / tool).write_text(f'#!/bin/sh\n{waits}exec {tools / tool} "$@"\n')
        (held / tool).chmod(0o755)
    with database.begin("restore", "--from", str(backup), PG_BIN=str(held)) as first:
        wait_until("the first is about to write", begun.exists)
        code, output = database.manage("restore", "--from", str(backup))
        go.write_text("go\n")
        stdout = "".join(first.communicate())
    assert (code, "Another restore of this database is in progress" in output) == (1, True), output
    assert first.returncode == 0, stdout
    assert database.rows("SELECT count(*) FROM marketplace_epoch") == [(1,)]
    code, output = database.manage("restore", "--from", str(backup), "--replace")
    assert code == 0, output


DAMAGES: list[dict[str, Any]] = [
    {"made_at": "2036-01-01T00:00:00+00:00"},
    {"made_at": 5, "sum": ...},
    {"made_at": "2026-13-25T", "sum": ...},
    {"files": [1], "sum": ...},
    {"files": {"database.dump": {}}, "sum": ...},
    {"migrations": 3, "sum": ...},
    {"files": {}, "sum": ...},
]


def test_a_damaged_manifest_is_told_before_anything_is_replaced(database: Database, backup: Path) -> None:
    """A wrong time in it would have been met after the database was replaced, and made the epoch's time wrong."""
    whole = (backup / MANIFEST).read_bytes()

    def write(damage: dict[str, Any]) -> None:
        content = {**json.loads(whole), **damage}
        (backup / MANIFEST).write_text(json.dumps({name: value for name, value in content.items() if value is not ...}))

    for damage in DAMAGES[:-1]:
        write(damage)
        with pytest.raises(BadBackup, match="damaged"):
            read_manifest(backup)
    write(DAMAGES[-1])
    code, output = database.manage("restore", "--from", str(backup))
    assert (code, output.count("\n")) == (1, 1), output
    assert output.startswith("CommandError: ") and "damaged" in output
    assert database.rows("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == [(0,)]
    (backup / MANIFEST).write_text(json.dumps({name: value for name, value in json.loads(whole).items() if name != "sum"}))
    code, output = database.manage("restore", "--from", str(backup))
    assert code == 0, "a backup of a version that wrote no sum: " + output


def test_a_full_disk_is_named_and_nothing_is_left(database: Database, backup: Path, tmp_path: Path) -> None:
    """In a mount of its own, which is too small for the dump, then for the registry."""
    code, output = database.manage("restore", "--from", str(backup))
    assert code == 0, output
    place, layers = tmp_path / "small", tmp_path / "layers"
    place.mkdir()
    layers.mkdir()
    (layers / "layer").write_bytes(os.urandom(8_000_000))
    for size in ("200k", "6m"):
        command = f"backup --to {place}/backups --registry {layers}; ls -A {place}/backups"
        code, output = database.in_small_place(place, size, command)
        assert "No space left" in output or f"{place}/backups is full" in output
        lines = output.splitlines()
        assert len(lines) == 1 and lines[0].startswith("CommandError: ") and "Nothing of this backup is left." in lines[0], (
            output
        )


def test_images_that_find_no_room_are_unpacked_by_the_same_command_again(database: Database, tmp_path: Path) -> None:
    """The database is in place by then; what came of the images is written over."""
    layers, small = tmp_path / "layers", tmp_path / "small"
    for folder in (layers / "docker", small):
        folder.mkdir(parents=True)
    for number in range(4):
        (layers / "docker" / f"layer-{number}").write_bytes(os.urandom(1_000_000))
    call_command("backup", "--to", str(tmp_path / "backups"), "--registry", str(layers), stdout=StringIO())
    (made,) = (tmp_path / "backups").iterdir()
    again = f"restore --from {made} --replace --registry {small}/registry"
    command = f"{again}; mount -o remount,size=9m {small}; $MANAGE {again} && ls -A {small}/registry {small}/registry/docker"
    code, output = database.in_small_place(small, "2m", command)
    broken, _, rest = output.partition("Type the same `manage.py restore` again, with --replace")
    assert "No space left on device" in broken and "Traceback" not in output, output
    assert code == 0 and rest.split()[-4:] == [f"layer-{number}" for number in range(4)], output
    assert ".berth-unpacking" not in rest


def test_a_second_backup_of_the_same_second_is_told_to_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.clock.now", lambda: datetime(2026, 3, 1, tzinfo=UTC))
    call_command("backup", "--to", str(tmp_path), stdout=StringIO())
    (made,) = tmp_path.iterdir()
    before = (made / MANIFEST).read_bytes()
    with pytest.raises(CommandError, match="is there already, or another backup makes it just now"):
        call_command("backup", "--to", str(tmp_path), stdout=StringIO())
    assert [made] == list(tmp_path.iterdir()) and (made / MANIFEST).read_bytes() == before
    (tmp_path / "file").touch()
    with pytest.raises(CommandError, match="is no folder: name one for backups"):
        call_command("backup", "--to", str(tmp_path / "file"), stdout=StringIO())


def test_a_backup_that_is_killed_leaves_nothing_that_looks_whole(database: Database, backup: Path, tmp_path: Path) -> None:
    code, output = database.manage("restore", "--from", str(backup))
    assert code == 0, output
    held, begun = tmp_path / "held", tmp_path / "begun"
    held.mkdir()
    tools = postgres_client().folder
    for tool in TOOLS:
        waits = f"[ $1 = --version ] || {{ echo half; touch {begun}; exec sleep 300; }}\n" if tool == "pg_dump" else ""
        (held / tool).write_text(f'#!/bin/sh\n{waits}exec {tools / tool} "$@"\n')
        (held / tool).chmod(0o755)
    place = tmp_path / "killed"
    with database.begin("backup", "--to", str(place), PG_BIN=str(held), group=True) as running:
        wait_until("half a dump is written", begun.exists)
        os.killpg(running.pid, signal.SIGKILL)
    (left,) = place.iterdir()
    assert left.name.startswith(".") and left.name.endswith(".partial")
    code, output = database.manage("restore", "--from", str(left), "--replace")
    assert (code, "is no backup" in output) == (1, True)
    code, output = database.manage("backup", "--to", str(place))
    assert code == 0, output


# After which call the restore is killed; `Path.rename` puts the ledger's anchors aside, one by one.
CUTS = [("begin_epoch", 1), ("unpack", 1), ("Path.rename", 1), ("_stripe", 1), ("remove_mark", 1)]


def test_a_restore_that_is_killed_anywhere_ends_right_when_it_is_typed_again(database: Database, tmp_path: Path) -> None:
    """As if it had not been killed: one epoch, the images, the anchors, and the same findings."""
    layers, anchors = tmp_path / "layers", tmp_path / "anchors"
    anchors.mkdir()
    (layers / "docker").mkdir(parents=True)
    (layers / "docker" / "layer").write_bytes(b"of an image")
    (anchors / "seal-000000000.json").write_text("{}")
    settings = {"LEDGER_ANCHOR_DIR": str(anchors)}
    with override_settings(**settings):
        call_command("backup", "--to", str(tmp_path / "backups"), "--registry", str(layers), stdout=StringIO())
    (made,) = (tmp_path / "backups").iterdir()

    def since_the_backup() -> tuple[str, ...]:
        shutil.rmtree(anchors)
        anchors.mkdir()
        for number in (5, 6):  # an anchor of the backup is lost, and two are newer
            text = anchor_text(number=number, head="0" * 64, upto=1, records_upto=1, sealed_at="2026-01-01")
            (anchors / anchor_name(number)).write_text(text)
        shutil.rmtree(tmp_path / "registry", ignore_errors=True)
        return ("restore", "--from", str(made), "--replace", "--registry", str(tmp_path / "registry"))

    def outcome() -> list[Any]:
        assert database.rows("SELECT to_regclass('public.unfinished_restore')") == [(None,)]
        ((findings,),) = database.rows("SELECT findings FROM marketplace_epoch")
        assert all(str(aside) in str(findings) for aside in anchors.glob("before-epoch-*"))
        images = sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "registry").rglob("*"))
        heads = sorted((path.parent == anchors, path.name) for path in anchors.rglob("seal-*"))
        return [images, heads, [line.partition(" These heads are in ")[0] for line in findings]]

    code, output = database.manage(*since_the_backup(), **settings)
    assert code == 0, output
    in_peace = outcome()
    assert "registry/docker/layer" in in_peace[0] and "anchored up to seal 6" in str(in_peace[2])
    assert [name[:14] for is_here, name in in_peace[1] if is_here] == ["seal-000000000"]
    for name, count in CUTS:
        words = since_the_backup()
        doomed = [sys.executable, "-m", "tests.instances.backups.doomed_restore", name, str(count), *words]
        with database._begin(doomed, settings, False) as killed:
            complained = "".join(killed.communicate())
        assert killed.returncode == -signal.SIGKILL, f"{name} was not reached: {complained}"
        wait_until("nobody is connected", lambda: database.rows(OTHERS) == [(0,)])
        assert database.rows("SELECT to_regclass('public.unfinished_restore') IS NULL") == [(False,)], name
        code, output = database.manage(*words, **settings)
        assert code == 0, f"after {name}: {output}"
        assert outcome() == in_peace, f"after {name}, {count}"


def test_a_database_that_does_not_answer_is_one_line(database: Database, backup: Path, tmp_path: Path) -> None:
    away = Database(database.url.replace(NAME, "berth_nowhere"))
    for words in (("backup", "--to", str(tmp_path / "none")), ("restore", "--from", str(backup))):
        code, output = away.manage(*words)
        assert (code, output.count("\n")) == (1, 1) and "does not answer" in output and "does not exist" in output, output
    assert not (tmp_path / "none").exists()
