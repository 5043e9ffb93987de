"""The stack from start to end: ports, databases, tables, web, jobs and hosts, watched until it stops."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from types import FrameType

import httpx

from devserver import external_services, processes
from devserver.external_services import StartFailed
from devserver.hosts import DemoHosts
from devserver.paths import ROOT, Layout
from devserver.postgres import Postgres, PostgresFailed, set_up_postgres
from devserver.redis import is_taken, redis_command, redis_url, wait_for_port
from devserver.supervisor import Program, Supervisor, last_lines
from devserver.terminal import print_status

READY_WITHIN_S = 90.0
_TICK_S = 0.1


class StartInterrupted(Exception):
    """Ctrl-C, SIGTERM or a closed terminal came during the start."""


class Stack:
    """Everything that `make up` starts."""

    def __init__(self, layout: Layout, *, reload: bool = False) -> None:
        self.layout = layout
        self._as_run: Callable[[Program], Program] = processes.reloading if reload else lambda program: program
        self._stopping = False
        self._supervisor = Supervisor(layout.logs)
        self._hosts: DemoHosts | None = None

    def run(self) -> None:
        """Start everything, keep it running until a signal comes, and stop it.

        Raises:
            StartFailed: A part could not be started.
        """
        self._refuse_taken_ports()
        external_services.check_servers(os.environ)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._request_stop)
        try:
            self._start()
            while not self._stopping:
                self._poll()
                time.sleep(_TICK_S)
        except StartInterrupted:
            pass
        finally:
            self._stop()

    def _request_stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True

    def _refuse_taken_ports(self) -> None:
        layout = self.layout
        taken = [port for port in (layout.port, layout.relay_port, layout.redis_port) if is_taken(layout.host, port)]
        if taken:
            ports = ", ".join(map(str, taken))
            raise StartFailed(
                f"port {ports} is taken by another program. Berth needs {layout.port}, {layout.relay_port} and "
                f"{layout.redis_port}: stop that program, or choose others with `make up PORT=8100`."
            )

    def _start(self) -> None:
        layout = self.layout
        environment = self._start_databases()
        print_status("tables and demo users")
        self._prepare(environment)
        environment.pop("OWNER_DATABASE_URL", None)  # from here on nothing needs the owner's role
        self._check()
        self._supervisor.start(
            self._as_run(processes.relay(layout, environment)), self._as_run(processes.web(layout, environment))
        )
        self._wait("the web answers", lambda: _answers(f"{layout.url}/readyz") and _answers(f"{layout.relay_url}/healthz"))
        self._supervisor.start(self._as_run(processes.worker(environment)))
        self._supervisor.start(self._as_run(processes.beat(layout, environment)))
        print_status(f"market: {layout.url}")
        self._hosts = DemoHosts(layout, environment, self._supervisor)
        self._hosts.start(self._check)
        self._print_summary()

    def _start_databases(self) -> dict[str, str]:
        """Start the embedded servers, except where DATABASE_URL or REDIS_URL name a developer's own."""
        layout = self.layout
        environment = dict(os.environ)
        print_status(f"PostgreSQL and Redis (state in {layout.state})")
        if "REDIS_URL" not in environment:
            self._supervisor.start(Program("redis", redis_command(layout), environment))
            wait_for_port(layout.host, layout.redis_port)
            environment["REDIS_URL"] = redis_url(layout)
        if "DATABASE_URL" not in environment:
            postgres = self._start_postgres(environment)
            environment["DATABASE_URL"], environment["OWNER_DATABASE_URL"] = postgres.url, postgres.owner_url
        environment = processes.stack_environment(layout, environment)
        processes.write_environment(layout, environment)
        return environment

    def _start_postgres(self, environment: dict[str, str]) -> Postgres:
        try:
            postgres = set_up_postgres(self.layout.state / "postgres")
            self._supervisor.start(postgres.program(environment))
            postgres.wait()
        except PostgresFailed as error:
            raise StartFailed(f"PostgreSQL: {error} (log: {self.layout.logs / 'postgres.log'})") from error
        return postgres

    def _prepare(self, environment: dict[str, str]) -> None:
        log = self.layout.logs / "prepare.log"
        with log.open("ab") as output:
            command = [sys.executable, "-m", "devserver.prepare"]
            process = subprocess.Popen(  # noqa: S603 own command
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            self._wait("the tables are ready", lambda: process.poll() is not None, within_s=600)
        finally:
            process.kill()
        if process.wait() != 0:
            raise StartFailed("\n".join([f"the preparation failed (log: {log}):", *last_lines(log, 8)]))

    def _poll(self) -> None:
        self._supervisor.tend()
        if self._hosts is not None:
            self._hosts.tend()

    def _check(self) -> None:
        if self._stopping:
            raise StartInterrupted

    def _wait(self, what: str, true: Callable[[], bool], *, within_s: float = READY_WITHIN_S) -> None:
        deadline = time.monotonic() + within_s
        while not true():
            self._check()
            self._poll()
            if time.monotonic() > deadline:
                raise StartFailed(f"waited {within_s:g} s until {what}; look into {self.layout.logs}")
            time.sleep(0.05)

    def _print_summary(self) -> None:
        layout = self.layout
        print_status(f"Berth is up: {layout.url}   (Ctrl-C stops it; logs and mails in {layout.logs})")
        for role in ("renter", "host", "admin"):
            print_status(f"    {role:<7} {role}@berth.example   password berth-demo-{role}")
        print_status(
            "    Staff need no second factor here (STAFF_SECOND_FACTOR); on a real market they cannot work without one."
        )
        print_status(f"    API tokens in {layout.demo_file}, the renter's SSH key in {layout.state / 'demo_key'}")

    def _stop(self) -> None:
        print_status("stopping")
        self._supervisor.stop()
        print_status("stopped; the data stays for the next `make up`")


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).is_success
    except httpx.HTTPError:
        return False
