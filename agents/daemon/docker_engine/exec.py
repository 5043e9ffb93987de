"""Access to running containers: connections inside their network, programs, and signals by script."""

import json
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final
from urllib.parse import urlsplit

from agents.daemon.docker_engine import exec_processes, network_namespace
from agents.daemon.engine.interface import Container, EngineRefused, EngineSilent
from agents.protocol.launch_messages import Launch

DEFAULT_ENGINE: Final = "unix:///var/run/docker.sock"
TIMEOUT: Final = 10.0
HEAD_AT_MOST: Final = 16 * 1024
SESSION_ENV: Final = "BERTH_TERMINAL"
_SWITCHED: Final = (b" 101 ", b" 200 ")
# A login shell in the renter's home. Text is UTF-8 unless the image says otherwise.
SHELL: Final = (
    "if [ -r /run/berth/env ]; then set -a; . /run/berth/env; set +a; fi; "
    'cd "${HOME:-/}" 2>/dev/null; export LANG="${LANG:-C.UTF-8}"; '
    "if command -v bash >/dev/null 2>&1; then exec bash -l; else exec sh -l; fi"
)
_UNHEARD_S, _UNHEARD_PAUSE_S = 30.0, 0.02
_MAKE_FOLDER: Final = ("/bin/sh", "-c", 'mkdir -p -- "$1"', "sh")
# A process that the engine starts by exec has no parent inside the container. Only those shells get SIGHUP; they pass
# it to their jobs, and what was meant to outlive them (nohup, tmux) does.
HANG_UP: Final = f"""
for folder in /proc/[0-9]*; do
  parent=
  while read -r key value; do [ "$key" = PPid: ] && parent=$value; done 2>/dev/null <"$folder/status"
  [ "$parent" = 0 ] || continue
  session=$(tr '\\0' '\\n' 2>/dev/null <"$folder/environ" | sed -n 's/^{SESSION_ENV}=//p')
  [ -n "$session" ] || continue
  case " $KEEP " in *" $session "*) ;; *) kill -HUP "${{folder#/proc/}}" 2>/dev/null ;; esac
done
true
"""

# Names of programs that get no signal: what the image runs for the renter, and what a person works in. All of them
# catch SIGTERM, and would end by it or pass it on to the person's programs.
_SPARED: Final = (
    *("docker-init", "tini", "berth-entrypoin*", "sh", "sleep"),
    *("sshd*", "sftp-server", "jupyter*", "tensorboard", "mosh-server"),
    *("bash", "zsh", "fish", "dash", "ksh", "tmux*", "screen", "SCREEN"),
    *("vi", "vim", "nvim", "nano", "emacs", "less", "top"),
)

# SigCgt is a hexadecimal mask of the signals that a program catches: SIGTERM is its bit 14, in the fourth digit from
# the right. Notebook kernels have JPY_PARENT_PID in their environment.
WARN_SCRIPT: Final = f"""
for folder in /proc/[0-9]*; do
  pid=${{folder#/proc/}}
  [ "$pid" = 1 ] || [ "$pid" = $$ ] && continue
  read -r name 2>/dev/null <"$folder/comm" || continue
  case "$name" in {"|".join(_SPARED)}) continue ;; esac
  caught=
  while read -r key value; do [ "$key" = SigCgt: ] && caught=$value; done 2>/dev/null <"$folder/status"
  case "$caught" in *[4-7c-f]???) ;; *) continue ;; esac
  grep -qa JPY_PARENT_PID= "$folder/environ" 2>/dev/null && continue
  kill -TERM "$pid" 2>/dev/null
done
true
"""


Answers = Callable[[], AbstractContextManager[None]]


def run_unheard(client: Any, exec_id: str) -> None:
    """Start a program without its output, which a renter's shell may write without an end, and wait for its end.

    After half a minute it is not waited for.
    """
    until = time.monotonic() + _UNHEARD_S
    client.exec_start(exec_id, detach=True)
    while client.exec_inspect(exec_id)["Running"] and time.monotonic() < until:
        time.sleep(_UNHEARD_PAUSE_S)


class DockerExec:
    """Enters containers of this host's own instances; `answers` converts the engine's errors."""

    def __init__(
        self, client: Any, containers: Callable[[str], Sequence[Container]], answers: Answers, engine: str = DEFAULT_ENGINE
    ) -> None:
        self._client = client
        self._containers = containers
        self._answers = answers
        self._engine = urlsplit(engine)

    def connect(self, instance: str, port: int) -> socket.socket:
        container = self._running(instance)
        try:
            found = network_namespace.connect_inside(container.pid, container.id, port)
        except network_namespace.NotInside:  # an agent in a container of its own does not see other containers' processes
            found = socket.create_connection((self._address(container.id), port), timeout=network_namespace.TIMEOUT)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return found

    def terminal(self, instance: str, session: str, size: tuple[int, int]) -> "DockerTerminal":
        container = self._running(instance)
        env = {"TERM": "xterm-256color", "COLORTERM": "truecolor", SESSION_ENV: session}
        terminal = self._start_terminal(container.id, ["/bin/sh", "-c", SHELL], env)
        terminal.resize(*size)
        return terminal

    def screen(self, instance: str, words: Sequence[str], env: Mapping[str, str]) -> "DockerTerminal":
        return self._start_terminal(self._running(instance).id, words, env)

    def _start_terminal(self, container: str, words: Sequence[str], env: Mapping[str, str]) -> "DockerTerminal":
        with self._answers():
            made = self._client.exec_create(container, list(words), stdin=True, tty=True, user="0", environment=dict(env))
        connection, first = self._start(str(made["Id"]))
        return DockerTerminal(self._client, self._answers, str(made["Id"]), connection, first)

    def command(self, instance: str, words: Sequence[str], env: Mapping[str, str]) -> "DockerCommand":
        container = self._running(instance)
        with self._answers():
            made = self._client.exec_create(
                container.id, list(words), stdin=True, tty=False, user="0", environment=dict(env)
            )
        connection, first = self._start(str(made["Id"]), tty=False)
        return DockerCommand(self._client, self._answers, str(made["Id"]), connection, first)

    def script(self, instance: str, words: Sequence[str], launch: Launch) -> "DockerCommand":
        """Start a program as the instance's user, with its secrets; the container has its other variables."""
        container = self._running(instance)
        place: dict[str, Any] = {"workdir": launch.workdir} if launch.workdir else {}
        with self._answers():
            if place:  # the engine makes it for a container's own program alone, and refuses a missing one here
                making = self._client.exec_create(container.id, [*_MAKE_FOLDER, launch.workdir], user="0")
                run_unheard(self._client, making["Id"])
            made = self._client.exec_create(
                container.id, list(words), user=launch.user, environment=dict(launch.secrets), **place
            )
        connection, first = self._start(str(made["Id"]), tty=False)
        return DockerCommand(self._client, self._answers, str(made["Id"]), connection, first)

    def program(
        self, instance: str, words: Sequence[str], env: Mapping[str, str], *, user: str, workdir: str
    ) -> "DockerCommand":
        """Start a program as this user, in this folder or the image's own; it and what it starts carry `env`'s mark."""
        container = self._running(instance)
        place: dict[str, Any] = {"workdir": workdir} if workdir else {}
        with self._answers():
            made = self._client.exec_create(
                container.id, list(words), stdin=True, tty=False, user=user or "0", environment=dict(env), **place
            )
        connection, first = self._start(str(made["Id"]), tty=False)
        return DockerCommand(self._client, self._answers, str(made["Id"]), connection, first)

    def signal_program(self, instance: str, mark: str, leader: int, number: int) -> bool:
        """Signal a program and what it has started; return whether there was anything to signal."""
        for container in self._containers(instance):
            if container.status != "running":
                continue
            if exec_processes.sees_container(container.id, container.pid):
                return exec_processes.signal_marked(container.id, mark, leader, number) > 0
            name = signal.Signals(number).name.removeprefix("SIG") if number else "0"
            words = [name, f"{exec_processes.MARK_VARIABLE}={mark}"]
            with self._answers():
                made = self._client.exec_create(
                    container.id, ["/bin/sh", "-c", exec_processes.SIGNAL_SCRIPT, "sh", *words], user="0"
                )
                run_unheard(self._client, made["Id"])
                return bool(self._client.exec_inspect(made["Id"])["ExitCode"] == 0)
        return False

    def hang_up(self, instance: str, keep: Sequence[str]) -> None:
        """Send SIGHUP to all terminals but these sessions; best effort.

        An image without a shell has no terminals either.
        """
        for container in self._containers(instance):
            if container.status == "running":
                with self._answers():
                    command = self._client.exec_create(
                        container.id, ["/bin/sh", "-c", HANG_UP], user="0", environment={"KEEP": " ".join(keep)}
                    )
                    run_unheard(self._client, command["Id"])

    def close(self) -> None:
        self._client.close()

    def _running(self, instance: str) -> Container:
        for container in self._containers(instance):
            if container.status == "running":
                return container
        raise EngineRefused("The instance is not running.", missing=True)

    def _address(self, container: str) -> str:
        with self._answers():
            networks = self._client.inspect_container(container)["NetworkSettings"]["Networks"]
        for network in networks.values():
            if network.get("IPAddress"):
                return str(network["IPAddress"])
        raise EngineRefused("The instance has no network.")

    def _start(self, command: str, *, tty: bool = True) -> tuple[socket.socket, bytes]:
        """Start the command and return the raw connection, with the bytes that came along with the reply.

        The engine's own client reads ahead, and would lose those bytes.
        """
        body = json.dumps({"Detach": False, "Tty": tty}).encode()
        head = (
            f"POST /exec/{command}/start HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        connection = self._dial_engine()
        try:
            connection.sendall(head.encode() + body)
            reply = b""
            while b"\r\n\r\n" not in reply:
                piece = connection.recv(4096)
                if not piece or len(reply) > HEAD_AT_MOST:
                    raise EngineSilent("the engine did not answer the start of a terminal")
                reply += piece
        except OSError as error:
            connection.close()
            raise EngineSilent(str(error)) from error
        lines, _, first = reply.partition(b"\r\n\r\n")
        if not any(mark in lines.split(b"\r\n")[0] + b" " for mark in _SWITCHED):
            connection.close()
            raise EngineRefused(f"no terminal: {first.decode(errors='replace')[:200]}")
        return connection, first

    def _dial_engine(self) -> socket.socket:
        if self._engine.scheme in ("unix", "http+unix", ""):
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.settimeout(TIMEOUT)
            try:
                connection.connect(self._engine.path)
            except OSError as error:
                connection.close()
                raise EngineSilent(str(error)) from error
            return connection
        return socket.create_connection((self._engine.hostname or "", self._engine.port or 2375), timeout=TIMEOUT)


class DockerCommand:
    """One program that the engine started in a container."""

    def __init__(self, client: Any, answers: Answers, command: str, connection: socket.socket, first: bytes) -> None:
        self._client = client
        self._answers = answers
        self._command = command
        self.connection = connection
        self.first = first

    def exit_code(self) -> int | None:
        with self._answers():
            code = self._client.exec_inspect(self._command)["ExitCode"]
        return None if code is None else int(code)

    def pid(self) -> int:
        """Return the id of its first process on this machine; 0 if the engine does not tell it."""
        with self._answers():
            return int(self._client.exec_inspect(self._command).get("Pid") or 0)


class DockerTerminal(DockerCommand):
    """One shell with a terminal that the engine started in a container."""

    def resize(self, columns: int, rows: int) -> None:
        with self._answers():
            self._client.exec_resize(self._command, height=rows, width=columns)
