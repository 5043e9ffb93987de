"""Two hosts for the run: each an engine and an agent of its own, whose folder is on a disk that can be filled."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.agents.daemon.wrong_clock import wrong_clock
from tests.docker.second_engine import SecondEngine
from tests.stack.harness import Stack, free_ports
from tests.waiting import wait_until

DISK_GB: Final = 160  # of holes: room for five system disks and data disks that are allocated, not written
GPUS: Final = 8
PRICE: Final = "3.60"
IMAGE: Final = "berth/witness:test"
# Counts on both of its file systems, one line each half second, each on the disk before the next; goes on where it was.
WITNESS: Final = """
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static void end(int number) { _exit(0); }
static long last(const char *path) {
    FILE *file = fopen(path, "r");
    long number = 0;
    if (file) { while (fscanf(file, "%ld", &number) == 1); fclose(file); }
    return number;
}
static void say(const char *path, long number) {
    char line[32];
    int length = snprintf(line, sizeof line, "%ld\\n", number);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file < 0 || write(file, line, length) != length || fsync(file)) abort();
    close(file);
}
int main(void) {
    struct timespec half = {0, 500000000};
    signal(SIGTERM, end);
    long root = last("/witness"), data = last("/data/witness");
    for (;;) { say("/witness", ++root); say("/data/witness", ++data); nanosleep(&half, 0); }
}
"""


def build_witness(*sockets: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "main.c"
        source.write_text(WITNESS)
        subprocess.run(["gcc", "-static", "-Os", "-o", f"{folder}/main", source], check=True)
        (Path(folder) / "Dockerfile").write_text('FROM scratch\nCOPY main /main\nCMD ["/main"]\n')
        for place in sockets:
            command = ["docker", "--host", place, "build", "--quiet", "--tag", IMAGE, folder]
            subprocess.run(command, check=True, capture_output=True)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@dataclass
class Host:
    """One machine of the run."""

    stack: Stack
    name: str
    ports: str
    engine: SecondEngine

    @property
    def agent(self) -> str:
        return f"agent-{self.name}"

    @property
    def proxy(self) -> str:
        return f"proxy-{self.name}"

    @property
    def state(self) -> Path:
        return self.stack.folder / f"state-{self.name}"

    @property
    def _clock(self) -> Path:
        return self.stack.folder / f"{self.name}.clock"

    def start(self) -> None:
        image = self.stack.folder / f"{self.name}.img"
        with image.open("wb") as file:
            file.truncate(DISK_GB * 1024**3)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-E", "nodiscard", image], check=True)
        self.state.mkdir()
        subprocess.run(["mount", "-o", "loop", image, self.state], check=True)
        [port] = free_ports(1)
        proxy = [sys.executable, "-m", "tests.chaos.proxy", str(port), str(self.stack.web_port)]
        self.stack.launch(self.proxy, proxy)
        wait_until("the proxy", lambda: _answers(port))
        market, self.stack.url = self.stack.url, f"http://127.0.0.1:{port}"
        self.set_clock(0)
        wrong = wrong_clock(self.stack.folder, self._clock)
        self.stack.own_settings[self.agent] = {"DOCKER_HOST": self.engine.socket, **wrong}
        own = ["--runtime", "docker", "--simulate-gpus", f"RTX 4090:{GPUS}", "--local-images", "--listen", "0.0.0.0"]
        self.stack.settings["DOCKER_HOST"] = self.engine.socket
        try:
            self.stack.enrol(self.name, *own, "--ports", self.ports, "--address", self.engine.address, price=PRICE)
        finally:
            self.stack.url = market
            del self.stack.settings["DOCKER_HOST"]

    def restart_agent(self) -> None:
        if self.agent in self.stack.processes:
            self.stack.kill(self.agent)
        self.stack.restart(self.agent)

    def set_clock(self, off_s: int) -> None:
        """The agent's clock is wrong by so much from now on, whether it runs or not."""
        self._clock.write_text(str(off_s))

    # -- its disk

    @property
    def ballast(self) -> Path:
        return self.state / "ballast"

    def fill_disk(self) -> None:
        with self.ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, shutil.disk_usage(self.state).free - 4096 * 16))

    def empty_disk(self) -> None:
        self.ballast.unlink(missing_ok=True)

    def stop(self) -> None:
        for name in (self.agent, self.proxy):
            if name in self.stack.processes:
                self.stack.kill(name)
        mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if str(self.state) in line]
        for place in reversed(mounts):
            subprocess.run(["umount", "-l", place], check=False, capture_output=True)
