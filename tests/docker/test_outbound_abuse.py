"""What an instance sends out (fault 95), on a real engine: no mail to strangers, and no more connections than work needs."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from agents.protocol.messages import DesiredInstance
from tests.docker.conftest import Host, Ssh
from tests.waiting import wait_until

pytestmark = pytest.mark.docker

OUTSIDE, GATEWAY = "45.67.9.2", "45.67.9.1"
OPEN, MAIL, MANY = 8080, (25, 465, 587), 9090
BURST, RATE = 400, 200  # as the agent's firewall has them
# Listens at every port that is named, and counts who comes at each; a line on its input asks for the counts.
_SERVER = """
import selectors, socket, sys, collections
chosen, counts = selectors.DefaultSelector(), collections.Counter()
for port in map(int, sys.argv[1:]):
    server = socket.create_server(("", port), backlog=4096)
    server.setblocking(False)
    chosen.register(server, selectors.EVENT_READ, port)
chosen.register(sys.stdin, selectors.EVENT_READ, 0)
print("ready", flush=True)
while True:
    for key, _ in chosen.select():
        if key.data == 0:
            if not sys.stdin.readline():
                sys.exit()
            print(dict(counts), flush=True)
            continue
        try:
            while True:
                key.fileobj.accept()[0].close()
                counts[key.data] += 1
        except BlockingIOError:
            pass
"""
# So many connections begun at once, none waited for: what a scan or a flood does.
_FLOOD = (
    'perl -MSocket -MTime::HiRes=time -e \'$to = sockaddr_in({port}, inet_aton("{address}")); $begun = time; '
    "for (1..{count}) {{ socket(my $s, PF_INET, SOCK_STREAM | 2048, 0) or last; connect($s, $to); push @all, $s; }} "
    "select(undef, undef, undef, 0.3); print scalar(@all), q( ), time - $begun'"
)


@dataclass
class Outside:
    """A machine on the internet, which is a namespace behind this one."""

    process: "subprocess.Popen[str]"

    def counts(self) -> dict[int, int]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        found: dict[int, int] = ast.literal_eval(self.process.stdout.readline())
        return found


def run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


@pytest.fixture
def outside(engine: object) -> Iterator[Outside]:
    name = f"bo{os.getpid() % 10_000}"
    run("ip", "netns", "add", name)
    try:
        run("ip", "link", "add", f"{name}h", "type", "veth", "peer", "name", "out", "netns", name)
        run("ip", "address", "add", f"{GATEWAY}/24", "dev", f"{name}h")
        run("ip", "link", "set", f"{name}h", "up")
        run("ip", "-n", name, "address", "add", f"{OUTSIDE}/24", "dev", "out")
        run("ip", "-n", name, "link", "set", "out", "up")
        run("ip", "-n", name, "link", "set", "lo", "up")
        ports = [str(port) for port in (OPEN, *MAIL, MANY)]
        line = ["ip", "netns", "exec", name, sys.executable, "-c", _SERVER, *ports]
        process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield Outside(process)
        finally:
            process.communicate(timeout=30)
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=False)


def reaches(ssh: Ssh, order: DesiredInstance, port: int) -> bool:
    tried = ssh.run(order, f"timeout 2 bash -c '</dev/tcp/{OUTSIDE}/{port}' && echo reached", timeout=20)
    return "reached" in tried.stdout


def test_fault_095_mail_and_floods_stay_inside(host: Host, order: DesiredInstance, ssh: Ssh, outside: Outside) -> None:
    host.start()
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    wait_until("the internet is open", lambda: reaches(ssh, order, OPEN))
    assert not any(reaches(ssh, order, port) for port in MAIL)
    count = 5 * BURST
    begun = ssh.run(order, _FLOOD.format(port=MANY, address=OUTSIDE, count=count), timeout=60)
    sent, seconds = begun.stdout.split()
    assert int(sent) == count, begun
    wait_until("a burst passes", lambda: outside.counts().get(MANY, 0) > BURST / 2)
    counts = outside.counts()
    assert not any(counts.get(port) for port in MAIL), "not one packet of mail left the host"
    assert counts[MANY] <= BURST + RATE * (float(seconds) + 1), f"the rest is dropped: {begun}"
    assert counts[MANY] < count
