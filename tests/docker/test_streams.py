"""A host that nobody reaches from outside: plain OpenSSH, scp, sftp, rsync and terminals come to it through the relay."""

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosedError

from agents.daemon.lib.config import save_config
from agents.protocol.messages import DesiredInstance, Tunnel
from agents.protocol.tickets import sign_ticket
from agents.relay.__main__ import build_server
from agents.relay.config import RelayConfig
from agents.relay.routes import build_app
from tests.agents.daemon.market import Market
from tests.agents.relay.streaming import sealed_grant

from .conftest import PORTS, Host, eventually, free_port

pytestmark = pytest.mark.docker

SECRET = "relay-secret-of-the-docker-tests"
_CHOICES = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "BatchMode=yes")
QUIET = [word for choice in _CHOICES for word in ("-o", choice)]


class Way:
    """The relay and one running instance behind it."""

    def __init__(self, relay_port: int, host: Host, order: DesiredInstance, key: Path) -> None:
        self.url = f"ws://127.0.0.1:{relay_port}"
        self.host, self.order, self.key = host, order, key
        self.ssh_port = str(dict(order.ports)[22])

    def run(self, *command: str, timeout: float = 40.0, text: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=timeout, check=False)

    def ssh(self, *words: str, options: tuple[str, ...] = ()) -> str:
        line = ["ssh", *QUIET, *options, "-i", str(self.key), "-p", self.ssh_port, "root@127.0.0.1", *words]
        done = self.run(*line)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ticket(self, kind: str, **more: Any) -> str:
        grant = sealed_grant(self.order.id, kind, key=self.host.market.slip_key, **more)
        return sign_ticket(SECRET, topic=f"stream:{self.host.config.host_id}:{grant}", expires_at=int(time.time()) + 60)

    def stream(self, kind: str, **more: Any) -> Any:
        return connect(f"{self.url}/relay/v1/streams?ticket={self.ticket(kind, **more)}&size=132x43", compression=None)


def streams_of(relay_port: int, host: Host, market: Market) -> Callable[[], dict[str, Any]]:
    """What the control plane would tell this host's agent of streams."""

    def sign(topic: str) -> str:
        return sign_ticket(SECRET, topic=topic, expires_at=int(time.time()) + 600)

    def tell() -> dict[str, Any]:
        host_id = host.config.host_id
        tunnels = [
            Tunnel(outside, item.id, inside, sign(f"tunnel:{outside}:{host_id}"))
            for item in market.desired.values()
            for inside, outside in item.ports
            if item.run == "running"
        ]
        link = {"link_url": f"ws://127.0.0.1:{relay_port}/relay/v1/link", "link_ticket": sign(f"link:{host_id}")}
        return {**link, "now": int(time.time()), "tunnels": tunnels}

    return tell


@pytest.fixture(scope="module")
def relay_port() -> Iterator[int]:
    config = RelayConfig(redis_url=os.environ["REDIS_URL"], secret=SECRET, tcp_ports=range(PORTS[0], PORTS[1] + 1))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    server = build_server(build_app(config), host="127.0.0.1", port=port)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    eventually(lambda: server.started, "the relay listens")
    yield port
    server.should_exit = True
    thread.join(20)


@pytest.fixture(scope="module")
def way(
    relay_port: int,
    new_module_host: Callable[[Market], Host],
    new_order: Callable[..., DesiredInstance],
    ssh_key: Path,
) -> Iterator[Way]:
    with Market() as market:
        host = new_module_host(market)
        host.config = replace(host.config, behind_nat=True)
        save_config(host.state, host.config)
        market.streams = streams_of(relay_port, host, market)
        host.start()
        market.until(lambda report: report.facts is not None)
        order = new_order(host, ports=[(22, free_port()), (8888, free_port())])
        market.want(order)
        market.until_phase(order.id, "running")
        made = Way(relay_port, host, order, ssh_key)
        eventually(lambda: made.run("ssh-keyscan", "-p", made.ssh_port, "127.0.0.1").stdout != "", "the tunnel answers")
        yield made
        market.want(replace(order, run="gone"))
        market.until_absent(order.id)


def test_plain_clients_come_through_the_relay(way: Way, tmp_path: Path) -> None:
    shown = way.host.inspect(way.order)
    assert shown["HostConfig"]["PortBindings"] == {}, "nothing is published on such a host"
    assert way.ssh("echo hello; exit 0") == "hello\n"
    assert re.match(r"/dev/pts/\d+\nxterm\n", way.ssh("tty; echo $TERM", options=("-tt", "-o", "SetEnv=TERM=xterm")))
    blob = tmp_path / "blob"
    blob.write_bytes(os.urandom(6 * 2**20))
    wanted = way.run("sha256sum", str(blob)).stdout.split()[0]
    login = ["-i", str(way.key), *QUIET]

    for legacy in ([], ["-O"]):  # scp speaks SFTP by itself, and its own old protocol with -O
        done = way.run("scp", *legacy, *login, "-P", way.ssh_port, str(blob), "root@127.0.0.1:/root/blob")
        assert done.returncode == 0, done.stderr
        assert way.ssh("sha256sum /root/blob; rm /root/blob").split()[0] == wanted
    batch = f"put {blob} /data/blob\nget /data/blob {tmp_path / 'back'}\n"
    done = way.run("sftp", *login, "-P", way.ssh_port, "-b", "-", "root@127.0.0.1", text=batch)
    assert done.returncode == 0, done.stderr
    assert way.run("sha256sum", str(tmp_path / "back")).stdout.split()[0] == wanted


def test_rsync_sends_the_difference_alone(way: Way, tmp_path: Path) -> None:
    if shutil.which("rsync") is None:
        assert os.environ.get("CI") != "true", "rsync is missing: `.ci/run` installs it"
        pytest.skip("rsync is not installed")
    blob = tmp_path / "blob"
    blob.write_bytes(os.urandom(4 * 2**20))
    shell = " ".join(["ssh", "-i", str(way.key), *QUIET, "-p", way.ssh_port])
    _rsync(way, shell, blob)
    with blob.open("ab") as file:
        file.write(b"more")
    literal = re.search(r"Literal data: ([\d,]+)", _rsync(way, shell, blob))
    assert literal is not None
    assert int(literal.group(1).replace(",", "")) < 2**20
    assert way.ssh("sha256sum /data/blob").split()[0] == way.run("sha256sum", str(blob)).stdout.split()[0]


def _rsync(way: Way, shell: str, blob: Path) -> str:
    done = way.run("rsync", "-a", "--stats", "-e", shell, str(blob), "root@127.0.0.1:/data/")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_local_forward_leads_to_what_listens_on_loopback_alone(way: Way) -> None:
    way.ssh(_serve(9100))
    local = str(free_port())
    line = ["ssh", *QUIET, "-i", str(way.key), "-p", way.ssh_port, "-N", "-L", f"{local}:127.0.0.1:9100", "root@127.0.0.1"]
    with subprocess.Popen(line) as forward:
        try:
            eventually(lambda: _said("127.0.0.1", int(local)) == b"from within", "the forward answers", 20)
        finally:
            forward.terminate()


def test_a_stream_reaches_a_port_that_is_not_published(way: Way) -> None:
    way.ssh(_serve(9200))

    async def ask() -> bytes:
        received = b""
        async with way.stream("port", port=9200) as ws:
            with suppress(ConnectionClosedError):  # not there yet
                while isinstance(frame := await ws.recv(), bytes):
                    received += frame
        return received

    eventually(lambda: asyncio.run(ask()) == b"from within", "the stream answers", 20)


def test_a_terminal_runs_whole_screens_and_ends_with_its_shell(way: Way) -> None:
    async def talk() -> None:
        async with way.stream("exec", session="one") as ws:
            await _until(ws, b"# ")
            await ws.send(b"stty size; echo $TERM $COLORTERM $LANG; echo \xe4\xbd\xa0\xe5\xa5\xbd | wc -m\r")
            seen = await _until(ws, b"3\r\n")
            assert b"43 132" in seen
            assert b"xterm-256color truecolor C.UTF-8" in seen
            await ws.send('{"resize":[100,30]}')
            await asyncio.sleep(0.3)
            await ws.send(b"stty size\r")
            await _until(ws, b"30 100")
            await ws.send(b"less /etc/passwd\r")
            await _until(ws, b"\x1b[?1049h")
        async with way.stream("exec", session="one") as ws:  # the connection broke; the program is still there
            await _until(ws, b"root:x:0:0")
            await _until(ws, b" byte ", pressing=b"=")
            await ws.send(b"q")
            await _until(ws, b"\x1b[?1049l")
            await ws.send(b"exit 3\r")
            assert json.loads(await _word(ws)) == {"exit": 3}

    asyncio.run(asyncio.wait_for(talk(), 60))

    async def leave() -> None:
        async with way.stream("exec", session="two") as ws:
            await _until(ws, b"# ")
            await ws.send(b"sleep 4242 & nohup sleep 4243 >/dev/null 2>&1 &\r")
            await _until(ws, b"# ")
            await ws.send('{"bye":true}')
            async for _ in ws:
                continue

    asyncio.run(asyncio.wait_for(leave(), 30))
    eventually(lambda: "BERTH_TERMINAL" not in way.ssh(_SHELLS), "the shell has heard that the line was cut")
    left = way.ssh("ps -eo args")
    assert "sleep 4243" in left, "what was meant to outlive the terminal does"
    way.ssh("pkill -f 'sleep 424[23]'")


_SHELLS = "for each in $(pgrep bash); do tr '\\0' '\\n' 2>/dev/null </proc/$each/environ | grep BERTH_TERMINAL; done; true"


def test_the_agent_starts_anew_and_hangs_up_what_it_left(way: Way) -> None:
    async def open_one() -> ClientConnection:
        ws: ClientConnection = await way.stream("exec", session="left")
        await _until(ws, b"# ")
        return ws

    async def look(ws: ClientConnection) -> None:
        await asyncio.to_thread(way.host.stop)
        async for _ in ws:
            continue
        await asyncio.to_thread(way.host.start)

    async def story() -> None:
        await look(await open_one())

    asyncio.run(asyncio.wait_for(story(), 60))
    eventually(lambda: way.run("ssh-keyscan", "-p", way.ssh_port, "127.0.0.1").stdout != "", "the tunnel is back")
    assert way.ssh("echo again") == "again\n"
    eventually(lambda: "BERTH_TERMINAL" not in way.ssh(_SHELLS), "no shell is left behind")


def _serve(port: int) -> str:
    """Listens on loopback alone, and says one thing to whoever comes."""
    program = (
        f"import socket\ns = socket.create_server(('127.0.0.1', {port}))\n"
        "while True:\n c, _ = s.accept()\n c.sendall(b'from within')\n c.close()"
    )
    return f'nohup python3 -c "{program}" >/dev/null 2>&1 </dev/null &'


def _said(address: str, port: int) -> bytes:
    try:
        with socket.create_connection((address, port), timeout=5) as wire:
            wire.settimeout(5)
            return wire.recv(100)
    except OSError:
        return b""


async def _until(ws: ClientConnection, mark: bytes, *, pressing: bytes = b"") -> bytes:
    """Read until `mark` appears. `pressing` is typed every second: less drops a key that arrives with a change of size."""
    seen, deadline = b"", time.monotonic() + 30
    while mark not in seen:
        assert time.monotonic() < deadline, f"no {mark!r} in {seen!r}"
        if pressing:
            await ws.send(pressing)
        with suppress(TimeoutError):
            frame = await asyncio.wait_for(ws.recv(), 1)
            assert isinstance(frame, bytes), f"{frame!r} after {seen!r}"
            seen += frame
    return seen


async def _word(ws: ClientConnection) -> str:
    while True:
        frame = await asyncio.wait_for(ws.recv(), 20)
        if isinstance(frame, str):
            return frame
