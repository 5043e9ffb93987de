"""A second container engine on this machine, in a network of its own, so that two hosts are two hosts; and a tiny image."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker

ADDRESS = "10.197.{number}.2"
GATEWAY = "10.197.{number}.1/24"
PATIENCE = 60.0
STARTS = 3
# Waits to be told to end, as an image's own program would; there is no shell in it.
PROGRAM = """
#include <signal.h>
#include <unistd.h>
static void end(int number) { _exit(0); }
int main(void) { signal(SIGTERM, end); for (;;) pause(); }
"""


def build_tiny_image(tag: str, *hosts: str, ballast_mb: int = 0) -> None:
    """Of one file: what travels in a test should be what the test put there. `hosts`: more engines that are to have it.

    `ballast_mb`: random bytes beside it, the same on all of them.
    """
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "main.c"
        source.write_text(PROGRAM)
        _must("gcc", "-static", "-Os", "-o", f"{folder}/main", str(source))
        (Path(folder) / "ballast").write_bytes(os.urandom(ballast_mb * 1024 * 1024))
        (Path(folder) / "Dockerfile").write_text('FROM scratch\nCOPY main ballast /\nCMD ["/main"]\n')
        for place in ([], *(["--host", host] for host in hosts)):
            _must("docker", *place, "build", "--quiet", "--tag", tag, folder)


@dataclass
class SecondEngine:
    """Started on entry; on exit everything of it is gone."""

    number: int = field(default_factory=lambda: 16 + os.getpid() % 200)
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="berth-engine-")))
    options: tuple[str, ...] = ()
    _process: subprocess.Popen[bytes] | None = None
    _killed: list[int] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"bth{self.number}"

    @property
    def socket(self) -> str:
        return f"unix://{self.folder}/docker.sock"

    @property
    def address(self) -> str:
        """At which its published ports are found from outside its network."""
        return ADDRESS.format(number=self.number)

    def __enter__(self) -> "SecondEngine":
        try:
            self._make_network()
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self.signal(signal.SIGCONT)
            os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
        for group in self._killed:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        _try("ip", "link", "delete", f"{self.name}h")
        _try("ip", "netns", "delete", self.name)
        for line in reversed(Path("/proc/mounts").read_text().splitlines()):
            if str(self.folder) in line:
                _try("umount", "-l", line.split()[1])
        shutil.rmtree(self.folder, ignore_errors=True)

    def restart(self) -> None:
        """As `systemctl restart docker` does: containers end with the engine, unless it restores live ones."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGTERM)
        self._process.wait(PATIENCE)
        self._start()

    def signal(self, number: int) -> None:
        """Send one to dockerd alone."""
        assert self._process is not None
        if self._process.poll() is None:
            os.kill(self._process.pid, number)

    def kill(self) -> None:
        """Its containerd is left behind, and so are the containers."""
        assert self._process is not None
        self.signal(signal.SIGKILL)
        self._process.wait(PATIENCE)
        self._killed.append(self._process.pid)

    def start_again(self) -> None:
        """As a supervisor does: an engine that was killed may fail once, while what it left behind is still there."""
        for _ in range(STARTS):
            self._start()
            while not self._serves():
                if self._process is None or self._process.poll() is not None:
                    break
                time.sleep(0.2)
            else:
                return
        raise AssertionError((self.folder / "log").read_text()[-3000:])

    def client(self) -> Any:
        return docker.APIClient(base_url=self.socket, version="auto", timeout=120)

    def _make_network(self) -> None:
        own, inside, outside = self.name, f"{self.name}n", f"{self.name}h"
        _must("ip", "netns", "add", own)
        _must("ip", "link", "add", outside, "type", "veth", "peer", "name", inside)
        _must("ip", "link", "set", inside, "netns", own)
        _must("ip", "addr", "add", GATEWAY.format(number=self.number), "dev", outside)
        _must("ip", "link", "set", outside, "up")
        for words in (f"addr add {self.address}/24 dev {inside}", f"link set {inside} up", "link set lo up"):
            _must("ip", "-n", own, *words.split())

    def _start(self) -> None:
        # Its network alone: with `ip netns exec` it would not see the disks that its agent mounts.
        command = ["nsenter", f"--net=/var/run/netns/{self.name}", "dockerd", "--host", self.socket]
        for option, place in (("data-root", "data"), ("exec-root", "exec"), ("pidfile", "docker.pid")):
            command += [f"--{option}", str(self.folder / place)]
        command += self.options
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        end = time.monotonic() + PATIENCE
        while not self._answers():
            if time.monotonic() > end or self._process.poll() is not None:
                raise AssertionError((self.folder / "log").read_text()[-3000:])
            time.sleep(0.2)

    def _serves(self) -> bool:
        """It takes connections before it has found its containerd, and answers after that."""
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(1.0)
            try:
                probe.connect(self.socket.removeprefix("unix://"))
                probe.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
                return b" 200 " in probe.recv(64)
            except OSError:
                return False

    def _answers(self) -> bool:
        """It listens when it is ready. Asked without Docker's client, which leaves a socket open where nobody listens."""
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(self.socket.removeprefix("unix://")) == 0


def _must(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"{command}: {done.stderr}"


def _try(*command: str) -> None:
    subprocess.run(command, capture_output=True, check=False, timeout=60)
