"""What a kill-point matrix is made of: agents that die on order, and all that an engine and a machine hold of a host."""

import hashlib
import io
import json
import os
import re
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from agents.daemon.docker_engine.container_spec import SYNC_HOST_LABEL, bridge_name
from agents.daemon.docker_engine.ssh_allow_list import chain_name
from tests.docker.conftest import ROOT

PATIENCE: Final = 60.0
# Says the banner that acceptance waits for, and ends at once when it is told to: what a step costs is the step.
# With a file's name it is a command: it adds one letter to that file, and ends soon after.
PROGRAM: Final = """
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>
static void end(int number) { _exit(0); }
static int count_run(const char *file) {
  int runs = open(file, O_WRONLY | O_APPEND | O_CREAT, 0600);
  write(runs, "x", 1);
  close(runs);
  usleep(300000);
  write(1, "ended\\n", 6);
  return 7;
}
int main(int count, char **words) {
  if (count > 1) return count_run(words[1]);
  struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(22)};
  int yes = 1, door = socket(AF_INET, SOCK_STREAM, 0), guest;
  signal(SIGTERM, end);
  setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  bind(door, (struct sockaddr *)&place, sizeof place);
  listen(door, 8);
  for (;;) if ((guest = accept(door, 0, 0)) >= 0) { write(guest, "SSH-2.0-greeter\\r\\n", 17); close(guest); }
}
"""


def build_greeter(tag: str) -> None:
    """An image of one small program."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "main.c").write_text(PROGRAM)
        subprocess.run(["gcc", "-static", "-Os", "-o", f"{folder}/main", f"{folder}/main.c"], check=True)
        (Path(folder) / "Dockerfile").write_text('FROM scratch\nCOPY main /main\nCMD ["/main"]\n')
        subprocess.run(["docker", "build", "--quiet", "--tag", tag, folder], check=True, capture_output=True)


class Doomed:
    """One agent in a process of its own; `steps` are those that it came to so far, each with the kind of work it is of."""

    def __init__(
        self,
        fork_server: Path,
        state: Path,
        env: dict[str, str],
        fatal: tuple[str, int] = ("", 0),
        *,
        words: Sequence[str] = (),
        typed: str = "",
    ) -> None:
        self.steps: list[tuple[str, str]] = []
        self.pid = 0
        self._answers: list[str] = []
        self._news = threading.Condition()
        self._gone = False
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(str(fork_server))
        first = {"state": str(state), "env": env, "step": fatal[0], "passes": fatal[1]}
        self._say({**first, "words": list(words), "typed": typed})
        threading.Thread(target=self._listen, daemon=True).start()
        self._until(lambda: self.pid != 0)

    @property
    def is_dead(self) -> bool:
        return self._gone

    def code(self) -> int | None:
        """Of a command that was typed, once it has ended: its exit status; None for one that was killed."""
        self._until(lambda: self._gone)
        codes = [answer.removeprefix("!code ") for answer in self._answers if answer.startswith("!code ")]
        return int(codes[0]) if codes else None

    def arm(self, step: str, passes: int) -> None:
        """Die when it comes to that step for the so-manieth time from now on."""
        assert self._ask(["arm", step, passes]) == "!armed"

    def is_busy(self) -> bool:
        try:
            return self._ask(["busy"]) == "!busy"
        except (AssertionError, OSError):
            self._until(lambda: self._gone)  # its end is heard of after the line breaks
            return True

    def kill(self) -> None:
        """Whatever it is doing."""
        self._connection.shutdown(socket.SHUT_WR)  # it takes its own life when nobody talks to it any more
        self._until(lambda: self._gone)

    def _ask(self, words: list[object]) -> str:
        self._answers.clear()
        self._say(words)
        self._until(lambda: bool(self._answers))
        return self._answers[-1]

    def _say(self, words: object) -> None:
        self._connection.sendall(f"{json.dumps(words)}\n".encode())

    def _until(self, true: Callable[[], bool]) -> None:
        with self._news:
            assert self._news.wait_for(lambda: true() or self._gone, PATIENCE) and true(), f"the agent is gone: {self._gone}"

    def _listen(self) -> None:
        with suppress(OSError), self._connection.makefile("r", encoding="utf-8") as lines:
            for line in lines:
                self._take(*line.strip().split("\t"))
        self._connection.close()
        with self._news:
            self._gone = True
            self._news.notify_all()

    def _take(self, kind: str, step: str) -> None:
        with self._news:
            if step[0] != "!":
                self.steps.append((kind, step))
            elif step[1:].isdecimal():
                self.pid = int(step[1:])
            else:
                self._answers.append(step)
            self._news.notify_all()


@contextmanager
def fork_server(*, net: str = "") -> Iterator[Path]:
    """Where agents are asked for. `net`: the network namespace in which they live, by its name."""
    inside = ["nsenter", f"--net=/var/run/netns/{net}"] if net else []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "socket"
        command = [*inside, sys.executable, "-m", "tests.docker.fork_server", str(place)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        with process.stdout:
            assert process.stdout.readline() == "ready\n"
            yield place
            process.kill()
            process.wait()


class Machine:
    """Everything of one host, looked at without the agent's own eyes. Ids are told by the names that a test gives them."""

    def __init__(self, engine: Any, state: Path, host_id: str, net: str = "") -> None:
        self.engine, self.state, self.host_id = engine, state, host_id
        self._inside = ["nsenter", f"--net=/var/run/netns/{net}"] if net else []
        self.names: dict[str, str] = {}

    def inventory(self) -> Counter[str]:
        return Counter(
            [
                *self._containers(),
                *self._networks(),
                *self._images(),
                *self._mounts(),
                *self._ssh_allow_list(),
                *self._files(),
            ]
        )

    def containers(self, instance: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.engine.containers(all=True, filters={"label": f"berth.instance={instance}"})
        return found

    def put(self, instance: str, name: str, content: bytes) -> None:
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as writer:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            writer.addfile(entry, io.BytesIO(content))
        [container] = self.containers(instance)
        assert self.engine.put_archive(container["Id"], "/", archive.getvalue())

    def get(self, instance: str, name: str) -> bytes | None:
        [container] = self.containers(instance)
        try:
            pieces, _ = self.engine.get_archive(container["Id"], f"/{name}")
        except Exception as error:
            if "404" in str(error) or "not find" in str(error).lower():
                return None
            raise
        with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as reader:
            file = reader.extractfile(name)
            return file.read() if file is not None else None

    def _containers(self) -> Iterator[str]:
        for item in self.engine.containers(all=True, filters={"label": f"berth.host={self.host_id}"}):
            yield f"container {self._named(item['Labels']['berth.instance'])} {item['State']}"
        for item in self.engine.containers(all=True, filters={"label": f"{SYNC_HOST_LABEL}={self.host_id}"}):
            yield f"container of a sync {item['State']}"

    def _networks(self) -> Iterator[str]:
        for item in self.engine.networks(filters={"label": f"berth.host={self.host_id}"}):
            yield f"network {self._named(item['Name'])}"

    def _images(self) -> Iterator[str]:
        for item in self.engine.images():
            labels = item.get("Labels") or {}
            tags = [tag for tag in item["RepoTags"] or [] if tag.startswith(("berth-root/", "berth-saved/", "berth-parcel"))]
            known = labels.get("berth.host") == self.host_id or labels.get("berth.instance") in self.names
            if known and not tags:
                yield "image without a name"
            yield from (f"image {self._named(tag)}" for tag in tags if known or any(name in tag for name in self.names))

    def tags(self) -> list[str]:
        """Of images made on this host of what is known by a name here."""
        every = (tag for item in self.engine.images() for tag in item["RepoTags"] or [])
        return [tag for tag in every if any(name in tag for name in self.names)]

    def _mounts(self) -> Iterator[str]:
        for line in Path("/proc/mounts").read_text().splitlines():
            if line.split()[1].startswith(str(self.state)):
                yield f"mount {self._named(line.split()[1].removeprefix(str(self.state)))}"
        for line in self._loops():
            yield f"loop {self._named(line.partition(str(self.state))[2].rstrip(')'))}"

    def unmounted_loops(self) -> list[str]:
        mounted = {line.split()[0] for line in Path("/proc/mounts").read_text().splitlines()}
        return [line for line in self._loops() if line.partition(":")[0] not in mounted]

    def _loops(self) -> list[str]:
        """Lines of `losetup`: the device, then what it is of."""
        lines = subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=True).stdout.splitlines()
        return [line for line in lines if str(self.state) in line]

    def _ssh_allow_list(self) -> Iterator[str]:
        rules = subprocess.run(
            [*self._inside, "iptables", "--wait", "-S"], capture_output=True, text=True, check=True
        ).stdout
        rules = re.sub(r"(?<=port )\d{5}", "PORT", rules)  # each order has a port of its own
        for identity, name in self.names.items():
            chain = chain_name(bridge_name(identity))
            own = (line for line in rules.splitlines() if chain in line)
            yield from (f"rule {line.replace(chain, name).replace(bridge_name(identity), name)}" for line in own)

    def _files(self) -> Iterator[str]:
        for folder, folders, files in os.walk(self.state):
            place, names = Path(folder), [*files, *folders]
            if place.name in ("mounts", "public"):  # what is in a disk is the renter's
                folders.clear()
            for path in (place / name for name in names if name not in ("moves", "images.json")):  # made with the first
                yield f"file {self._named(str(path.relative_to(self.state)))}"

    def _named(self, text: str) -> str:
        for identity, name in self.names.items():
            text = text.replace(identity, name).replace(bridge_name(identity), name)
        # Generations and numbers of roots go on; how many there are is what counts.
        return re.sub(r"[0-9a-f]{32}", "ID", re.sub(r"(?<=[:-])\d+$|(?<=\.)\d+(?=\.)", "N", text))


def checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Clock:
    """When containers really ran, by the engine's own events: what a meter may count, and no more."""

    def __init__(self, engine: Any, host_id: str) -> None:
        self._lock = threading.Lock()
        self._spans: dict[str, list[list[float]]] = {}
        filters = {"type": "container", "label": f"berth.host={host_id}", "event": ["start", "die"]}
        self._events = engine.events(filters=filters, decode=True)
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        with suppress(OSError, ValueError, AttributeError):  # closed under it: an event stream has no end of its own
            self._read()

    def _read(self) -> None:
        for event in self._events:
            at, instance = event["timeNano"] / 1e9, event["Actor"]["Attributes"]["berth.instance"]
            with self._lock:
                spans = self._spans.setdefault(instance, [])
                if event["Action"] == "start":
                    spans.append([at, float("inf")])
                elif spans:
                    spans[-1][1] = at

    def ran_within(self, instance: str, since: float, until: float) -> bool:
        with self._lock:
            return any(begin <= until and end >= since for begin, end in self._spans.get(instance, []))

    def spans(self, instance: str) -> list[tuple[float, float]]:
        with self._lock:
            return [(begin, end) for begin, end in self._spans.get(instance, [])]

    def close(self) -> None:
        self._events.close()
