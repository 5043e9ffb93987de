"""`manage.py backup` and what `manage.py restore` refuses. A restore that is carried out: tests/stack/test_restore.py."""

import json
import os
import time
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from pytest_django import Settings

from common import backup_folder
from common.backup_folder import MANIFEST, read_manifest
from common.db.postgres_client import ClientFailed, PostgresClient, postgres_client
from common.unfinished_restore import SET_MARK
from instances.backups.backup import DATABASE
from marketplace.models import Epoch
from tests.roles import as_owner

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Path:
    settings.LEDGER_ANCHOR_DIR = str(tmp_path / "anchors")
    (tmp_path / "anchors").mkdir()
    (tmp_path / "anchors" / "seal-000000001.json").write_text("{}")
    (tmp_path / "registry" / "docker").mkdir(parents=True)
    (tmp_path / "registry" / "docker" / "blob").write_bytes(b"layer")
    out = StringIO()
    call_command("backup", "--to", str(tmp_path / "backups"), "--registry", str(tmp_path / "registry"), stdout=out)
    (made,) = (tmp_path / "backups").iterdir()
    assert "Not in it:" in out.getvalue() and settings.SECRET_KEY not in out.getvalue()
    return made


def refused(folder: Path, *words: str) -> str:
    with pytest.raises(CommandError) as error:
        call_command("restore", "--from", str(folder), *words)
    assert not Epoch.objects.exists()
    return str(error.value)


def change(folder: Path, **fields: Any) -> None:
    """As another version would have written it."""
    content = {**json.loads((folder / MANIFEST).read_bytes()), **fields}
    del content["sum"]
    (folder / MANIFEST).write_text(json.dumps(content))


def test_a_backup_has_all_that_it_names_and_nobody_else_may_read_it(folder: Path, settings: Settings) -> None:
    files = read_manifest(folder).files
    kept = {"anchors/seal-000000001.json", "database.dump", "registry.tar", "secrets/secret_key"}
    assert kept <= files.keys()
    assert all(path.stat().st_mode & 0o077 == 0 for path in [folder, *folder.rglob("*")])
    assert settings.SECRET_KEY not in (folder / MANIFEST).read_text()


@pytest.mark.parametrize("name", ["database.dump", "secrets/secret_key", "registry.tar"])
def test_a_damaged_backup_is_refused(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert f"{Path(name).name} is not as it was written" in refused(folder)
    (folder / name).unlink()
    assert f"{Path(name).name} is missing" in refused(folder)


def test_what_is_no_backup_is_refused(tmp_path: Path, folder: Path) -> None:
    assert "is no backup" in refused(tmp_path)
    (folder / MANIFEST).write_text("[1")
    assert "cannot be read" in refused(folder)
    (folder / MANIFEST).write_text('{"format": 1}')
    assert "is damaged" in refused(folder)


def test_a_backup_of_a_newer_version_is_refused(folder: Path) -> None:
    known = read_manifest(folder).migrations
    whole = (folder / MANIFEST).read_bytes()
    change(folder, migrations=[*known, "instances.9999_tomorrow"])
    assert "unknown migrations: instances.9999_tomorrow" in refused(folder)
    (folder / MANIFEST).write_bytes(whole)
    change(folder, format=backup_folder.FORMAT + 1)
    assert "Use a newer one" in refused(folder)


def test_other_keys_and_another_currency_are_refused(folder: Path, settings: Settings, tmp_path: Path) -> None:
    theirs, settings.SECRET_KEY = settings.SECRET_KEY, "another one"
    assert "SECRET_KEY is not the backup's" in refused(folder)
    chosen = tmp_path / "given"
    chosen.mkdir()
    (chosen / "relay_secret").write_text("is there")
    assert "SECRET_KEY is not" in refused(folder, "--secrets", str(chosen))
    assert (chosen / "secret_key").read_text() == theirs
    assert (chosen / "secret_key").stat().st_mode & 0o077 == 0
    assert (chosen / "relay_secret").read_text() == "is there", "never replaced"
    settings.SECRET_KEY, settings.MARKET_CURRENCY = theirs, "CNY"
    assert "MARKET_CURRENCY is CNY" in refused(folder)


def test_a_database_that_holds_something_is_not_given_up_unasked(folder: Path) -> None:
    error = refused(folder)
    assert "is not empty" in error or "other connections" in error


def test_a_client_that_is_too_old_is_named_with_the_version_that_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tool in ("pg_dump", "pg_restore", "psql"):
        (tmp_path / tool).write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)'\n")
        (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PG_BIN", str(tmp_path))
    with pytest.raises(ClientFailed, match=r"version 18 or newer are needed \(found: 15 in .*Install postgresql-client-18"):
        postgres_client()


def test_a_backup_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(client: PostgresClient, target: Path) -> None:
        target.write_bytes(b"half")
        raise ClientFailed("pg_dump failed: the server went away")

    monkeypatch.setattr(PostgresClient, "dump", fail)
    with pytest.raises(CommandError, match="went away"):
        call_command("backup", "--to", str(tmp_path / "backups"))
    assert list((tmp_path / "backups").iterdir()) == []


def test_no_backup_is_made_of_a_database_whose_restore_was_broken_off(tmp_path: Path) -> None:
    """It would lack the new epoch and the freeze of money, and no restore of it could be begun."""
    with as_owner(), connection.cursor() as cursor:
        cursor.execute(SET_MARK)
    with pytest.raises(CommandError, match="broken off before its end"):
        call_command("backup", "--to", str(tmp_path / "backups"))
    assert not (tmp_path / "backups").exists()


def test_what_a_killed_backup_has_left_goes_a_day_later(tmp_path: Path) -> None:
    """One that another operator makes at the same time is left alone."""
    old, young = (tmp_path / f".berth-{name}.partial" for name in ("20260101T000000Z", "20260102T000000Z"))
    for draft in (old, young):
        draft.mkdir()
        (draft / DATABASE).write_bytes(b"half")
    os.utime(old, (time.time() - 90_000,) * 2)
    call_command("backup", "--to", str(tmp_path), stdout=StringIO())
    assert not old.exists() and young.exists()


def test_a_dump_that_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    bad = tmp_path / DATABASE
    bad.write_bytes(b"no dump")
    with pytest.raises(ClientFailed, match="pg_restore failed"):
        postgres_client().replace(bad)
    assert [path.name for path in tmp_path.iterdir()] == [DATABASE]
