"""`manage.py restore` on a database of its own: what it meets there, and what a backup of another time becomes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from django.core.management import call_command

from common.db.postgres_client import TOOLS, postgres_client
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[3]
NAME = "berth_restored"


@dataclass(frozen=True)
class Database:
    """An empty database beside the test's own, for its owner."""

    url: str

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(psycopg2.connect(self.url)) as link, link.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()

    def begin(self, *words: str, **settings: str) -> subprocess.Popen[str]:
        """`manage.py` on it."""
        env = os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings.test", "DATABASE_URL": self.url} | settings
        command = [sys.executable, "manage.py", *words]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, cwd=ROOT, env=env, **pipes)

    def manage(self, *words: str, **settings: str) -> tuple[int, str]:
        """The command's exit status and all that it said."""
        running = self.begin(*words, **settings)
        said, complained = running.communicate()
        return running.returncode, said + complained


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
        code, told = database.manage("restore", "--from", str(backup))
        go.write_text("go\n")
        said = "".join(first.communicate())
    assert (code, "Another restore of this database is under way" in told) == (1, True), told
    assert first.returncode == 0, said
    assert database.rows("SELECT count(*) FROM marketplace_epoch") == [(1,)]
    code, told = database.manage("restore", "--from", str(backup), "--replace")
    assert code == 0, told
