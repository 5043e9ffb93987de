"""Two hosts for the run: each an engine and an agent of its own, whose folder is on a disk that can be filled."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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
# The time of day is wrong; what only measures (CLOCK_MONOTONIC) is right, as on a machine whose clock was set anew.
WRONG_CLOCK: Final = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static long off(void) { const char *text = getenv("CLOCK_OFF_S"); return text ? atol(text) : 0; }
int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, now);
    if (!result && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) now->tv_sec += off();
    return result;
}
int gettimeofday(struct timeval *now, void *zone) {
    struct timespec exact;
    int result = clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec; now->tv_usec = exact.tv_nsec / 1000;
    return result;
}
time_t time(time_t *place) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (place) *place = exact.tv_sec;
    return exact.tv_sec;
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
    """One machine of the run. `clock_off_s`: by how much its agent's clock is wrong."""

    stack: Stack
    name: str
    ports: str
    engine: SecondEngine
    clock_off_s: int = 0

    @property
    def agent(self) -> str:
        return f"agent-{self.name}"

    @property
    def proxy(self) -> str:
        return f"proxy-{self.name}"

    @property
    def state(self) -> Path:
        return self.stack.folder / f"state-{self.name}"

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
        """From the agent's next start on: it reads its clock as the process begins."""
        wrong = {"LD_PRELOAD": str(self._wrong_clock()), "CLOCK_OFF_S": str(off_s)} if off_s else {}
        self.clock_off_s = off_s
        self.stack.own_settings[self.agent] = {"DOCKER_HOST": self.engine.socket, **wrong}

    def _wrong_clock(self) -> Path:
        library = self.stack.folder / "clock.so"
        if not library.exists():
            source = self.stack.folder / "clock.c"
            source.write_text(WRONG_CLOCK)
            subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"], check=True)
        return library

    # -- its engine

    def kill_engine(self) -> None:
        process = self.engine._process
        assert process is not None
        process.kill()
        process.wait(30)

    def revive_engine(self) -> None:
        """As an operator's unit would: what the last one left behind ends first, else the new one waits for it in vain."""
        left = self.engine.folder / "exec" / "containerd" / "containerd.pid"
        with contextlib.suppress(FileNotFoundError, ValueError, ProcessLookupError):
            os.kill(int(left.read_text()), signal.SIGKILL)
        for path in (left, self.engine.folder / "docker.pid"):
            path.unlink(missing_ok=True)
        self.engine._start()

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
