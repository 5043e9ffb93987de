"""SSH into images that bring no server for it: real OpenSSH clients against the agent's own bridge."""

import fcntl
import os
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agents.daemon.lib.config import save_config
from agents.protocol.messages import DesiredInstance
from tests.agents.daemon.market import Market
from tests.docker.conftest import Host, eventually, free_port
from tests.docker.plain_images import PLAIN, SMALL, plain_images
from tests.docker.test_streams import relay_port, streams_of

__all__ = ["plain_images", "relay_port"]
pytestmark = pytest.mark.docker  # one engine, one firewall


class Client:
    """A renter with OpenSSH's own programs. What the host's key was the first time it must be for ever."""

    def __init__(self, key: Path, folder: Path, port: int) -> None:
        self.port = str(port)
        known = ["-o", f"UserKnownHostsFile={folder / 'known'}", "-o", "StrictHostKeyChecking=accept-new"]
        self.login = ["-i", str(key), *known, "-o", "LogLevel=ERROR", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes"]

    def run(self, *words: str, stdin: bytes = b"", timeout: float = 60.0) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(words, input=stdin, capture_output=True, timeout=timeout, check=False)

    def ssh(self, *words: str, options: tuple[str, ...] = (), stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return self.run("ssh", *self.login, *options, "-p", self.port, "root@127.0.0.1", *words, stdin=stdin)

    def must(self, command: str, *, stdin: bytes = b"") -> str:
        done = self.ssh(command, stdin=stdin)
        assert done.returncode == 0, done
        return done.stdout.decode()

    def sftp(self, *lines: str) -> str:
        words = ["sftp", *self.login, "-P", self.port, "-b", "-", "root@127.0.0.1"]
        done = self.run(*words, stdin="\n".join(lines).encode() + b"\n")
        assert done.returncode == 0, done
        return done.stdout.decode()

    def scp(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        return self.run("scp", *self.login, "-P", self.port, *words)


@pytest.fixture(scope="module")
def host(new_module_host: Callable[[Market], Host], plain_images: None) -> Iterator[Host]:
    with Market() as market:
        made = new_module_host(market)
        made.start()
        market.until(lambda report: report.facts is not None)
        yield made


def rented(host: Host, new_order: Callable[..., DesiredInstance], image: str, number: int) -> DesiredInstance:
    facts = host.market.facts
    assert facts is not None
    ports, gpus = [(22, free_port())], [facts.gpus[number].uuid]
    order = new_order(host, image=image, has_ssh=False, data_disk_gb=0, ports=ports, gpu_uuids=gpus)
    host.market.want(order)
    host.market.until_phase(order.id, "running")
    return order


@pytest.fixture(scope="module")
def plain(host: Host, new_order: Callable[..., DesiredInstance]) -> DesiredInstance:
    return rented(host, new_order, PLAIN, 0)


@pytest.fixture(scope="module")
def small(host: Host, new_order: Callable[..., DesiredInstance]) -> DesiredInstance:
    return rented(host, new_order, SMALL, 1)


@pytest.fixture
def client(plain: DesiredInstance, ssh_key: Path, tmp_path: Path) -> Client:
    return Client(ssh_key, tmp_path, plain.ports[0][1])


def test_commands_say_what_they_said_and_how_they_ended(client: Client, host: Host, plain: DesiredInstance) -> None:
    published = host.inspect(plain)["HostConfig"]["PortBindings"]
    assert "22/tcp" not in published, "the agent itself is at that port"
    assert client.must("echo hello; pwd; echo $USER $HOME $LANG") == "hello\n/root\nroot /root C.UTF-8\n"
    done = client.ssh("echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, b"out\n", b"err\n")
    assert client.ssh("kill -KILL $$").returncode == 128 + 9
    body = os.urandom(4 * 2**20)
    assert client.ssh("cat", stdin=body).stdout == body, "both ways, to the end of input"
    assert client.must("cat <<'END'\n$HOME 'one' \"two\" \\n\nEND") == "$HOME 'one' \"two\" \\n\n"
    assert client.ssh("echo $LC_NOTE", options=("-o", "SetEnv=LC_NOTE=你好")).stdout.decode() == "你好\n"
    assert client.must("echo $JUPYTER_TOKEN") == "secret-token\n", "the instance's own variables"
    assert client.ssh("true", options=("-l", "nobody")).returncode == 255
    assert int(client.must("head -c 20000000 /dev/zero | wc -c")) == 20_000_000


class Screen:
    """OpenSSH on a terminal, as a person sits at it."""

    def __init__(self, client: Client) -> None:
        self._near, far = os.openpty()
        self._heard = select.poll()  # unlike select() for any number of open files
        self._heard.register(self._near, select.POLLIN)
        self.resize(132, 43, tell=False)
        line = ["ssh", *client.login, "-p", client.port, "-tt", "root@127.0.0.1"]
        with os.fdopen(far, "r+b", buffering=0) as screen:
            self.process = subprocess.Popen(line, stdin=screen, stdout=screen, stderr=screen, start_new_session=True)

    def resize(self, columns: int, rows: int, *, tell: bool = True) -> None:
        fcntl.ioctl(self._near, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if tell:
            self.process.send_signal(signal.SIGWINCH)

    def type(self, text: str) -> None:
        os.write(self._near, text.encode())

    def until(self, mark: str) -> str:
        seen = b""
        while mark not in seen.decode(errors="replace"):
            assert self._heard.poll(30_000), f"never {mark!r}: {seen!r}"
            seen += os.read(self._near, 65536)
        return seen.decode()

    def cut(self) -> None:
        """As when the machine that it runs on goes away."""
        self.process.kill()
        self.process.wait()
        os.close(self._near)


def test_a_screen_has_its_size_its_signals_and_an_end(client: Client) -> None:
    screen = Screen(client)
    screen.until("# ")
    screen.type("stty size; echo $SSH_TTY\r")
    assert "43 132" in screen.until("/dev/pts/")
    screen.resize(100, 30)
    screen.type("until stty size | grep '30 100'; do sleep 0.1; done; echo 你 $((6*7))\r")
    screen.until("你 42")
    screen.type("sh -c \"echo be'gun'; exec sleep 4242\"\r")  # it is in the foreground when it says so
    screen.until("begun")
    screen.type("\x03")
    screen.type("echo inter'rupted'\r")
    screen.until("interrupted")
    screen.type("sleep 4243 & nohup sleep 4244 >/dev/null 2>&1 & echo be'gun'\r")
    screen.until("begun")
    screen.cut()
    eventually(lambda: "sleep 4243" not in client.must("ps -eo args"), "its programs hear that the line was cut")
    assert "sleep 4244" in client.must("ps -eo args"), "what was meant to outlive it does"
    client.must("pkill -f 'sleep 424[4]'")


def test_who_goes_away_leaves_no_command_behind(client: Client) -> None:
    line = ["ssh", *client.login, "-p", client.port, "root@127.0.0.1", "echo begun; exec sleep 4245"]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"begun\n"
        running.kill()
    eventually(lambda: "sleep 4245" not in client.must("ps -eo args"), "the command has heard of it")


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What people have: names of all kinds, many small files, one that is not small."""
    made = tmp_path_factory.mktemp("files") / "folder"
    (made / "sub folder" / "deep").mkdir(parents=True)
    for name in ("it's", "你好.txt", "-dash", "new\nline", "*", "$HOME", '"quoted"'):
        (made / name).write_text(name)
    for number in range(20):
        (made / "sub folder" / f"{number}").write_text(str(number))
    (made / "sub folder" / "deep" / "large").write_bytes(os.urandom(5 * 2**20))
    (made / "empty").touch()
    (made / "-dash").chmod(0o750)
    return made


SERVER, AWAY = "/usr/lib/openssh/sftp-server", "/usr/lib/openssh/away"


@pytest.mark.parametrize("way", ["its own server", "plain words", "busybox"])
def test_folders_go_there_and_back(way: str, client: Client, small: DesiredInstance, folder: Path, tmp_path: Path) -> None:
    if way == "busybox":
        client.port = str(small.ports[0][1])
    if way == "plain words":
        client.must(f"mv {SERVER} {AWAY}")
    try:
        client.must("rm -rf /there; mkdir -p /tmp")
        assert client.scp("-rp", str(folder), "root@127.0.0.1:/there").returncode == 0
        assert client.scp("-rp", "root@127.0.0.1:/there", str(tmp_path / "back")).returncode == 0
        assert tree(tmp_path / "back") == tree(folder)
        before, after = (folder / "-dash").stat(), (tmp_path / "back" / "-dash").stat()
        assert (before.st_mode, int(before.st_mtime)) == (after.st_mode, int(after.st_mtime))
        listed = client.sftp(
            "cd /there", "ls -1", 'rename "it\'s" renamed', "rm renamed", "mkdir made", "rmdir made", "df ."
        )
        assert "你好.txt" in listed
        assert client.ssh('test ! -e /there/renamed && test ! -e "/there/it\'s"').returncode == 0
        words = ["sftp", *client.login, "-P", client.port, "-b", "-", "root@127.0.0.1"]
        lost = client.run(*words, stdin=b"get /there/absent /dev/null\n")
        assert lost.returncode == 1
        assert b"not found" in lost.stderr
    finally:
        if way == "plain words":
            client.must(f"mv {AWAY} {SERVER}")


def test_the_old_scp_and_rsync_where_the_image_has_them(client: Client, folder: Path, tmp_path: Path) -> None:
    assert client.scp("-O", "-rp", str(folder / "sub folder"), "root@127.0.0.1:/old").returncode == 0
    shell = " ".join(["ssh", *client.login, "-p", client.port])
    done = client.run("rsync", "-a", "-e", shell, f"{folder}/", "root@127.0.0.1:/synced/")
    assert done.returncode == 0, done
    done = client.run("rsync", "-a", "-e", shell, "root@127.0.0.1:/synced/", str(tmp_path / "back"))
    assert done.returncode == 0, done
    assert tree(tmp_path / "back") == tree(folder)
    assert client.must("cat /old/7 /synced/-dash") == "7-dash"


LISTEN = """import socket
listener = socket.create_server(("127.0.0.1", 9100))
print("on", flush=True)
listener.accept()[0].sendall(b"from within")
"""


def test_forwards_lead_into_the_container_alone(client: Client, tmp_path: Path) -> None:
    words = ["ssh", *client.login, "-p", client.port, "root@127.0.0.1", f"exec python3 -c '{LISTEN}'"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as serving:
        assert serving.stdout is not None
        assert serving.stdout.readline() == b"on\n"
        assert client.ssh(options=("-W", "127.0.0.1:9100")).stdout == b"from within", "it listens on loopback alone"
    assert client.ssh(options=("-W", "8.8.8.8:53")).returncode == 255
    refused = client.ssh(options=("-N", "-o", "ExitOnForwardFailure=yes", "-R", "9101:127.0.0.1:22"))
    assert refused.returncode == 255
    with subprocess.Popen(["ssh-agent", "-D", "-a", tmp_path / "agent"], stdout=subprocess.DEVNULL) as agent:
        try:
            eventually((tmp_path / "agent").exists, "the renter's own agent")
            forwarded = client.ssh("echo $SSH_AUTH_SOCK", options=("-o", f"ForwardAgent={tmp_path / 'agent'}"))
            assert (forwarded.returncode, forwarded.stdout) == (0, b"\n")
        finally:
            agent.terminate()


def test_keys_change_while_it_runs_and_the_way_back_is_the_same(
    host: Host, plain: DesiredInstance, client: Client, ssh_key: Path, tmp_path: Path
) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "later"], check=True)
    later = Client(tmp_path / "later", tmp_path, plain.ports[0][1])
    client.must("echo mine >/root/kept")
    assert later.ssh("true").returncode == 255
    lines = [*plain.ssh_keys, (tmp_path / "later.pub").read_text().strip()]
    host.market.want(replace(plain, ssh_keys=lines))
    eventually(lambda: later.ssh("true").returncode == 0, "the new key lets in")
    host.market.want(plain)
    eventually(lambda: later.ssh("true").returncode == 255, "and no more")

    line = ["ssh", *client.login, "-p", client.port, "root@127.0.0.1", "echo begun; exec sleep 4246"]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as open_one:
        assert open_one.stdout is not None
        assert open_one.stdout.readline() == b"begun\n"
        host.stop()
        assert open_one.wait(30) == 255, "a session ends with the agent"
    assert client.ssh("true").returncode == 255
    host.start()
    eventually(lambda: client.ssh("cat /root/kept").stdout == b"mine\n", "the port is back, with the same host key")
    eventually(lambda: "sleep 4246" not in client.must("ps -eo args"), "nothing of it is left behind")

    host.market.want(replace(plain, generation=2, fence=2, run="stopped"))
    host.market.until_phase(plain.id, "stopped")
    assert client.ssh("true").returncode == 255
    host.market.want(replace(plain, generation=3, fence=3))
    host.market.until_phase(plain.id, "running", 3)
    assert client.must("cat /root/kept") == "mine\n", "it runs, so SSH answers; the host is known from before"
    host.market.want(replace(plain, generation=4, fence=4, run="gone"))
    host.market.until_absent(plain.id)
    assert host.leftovers(plain) == []


@pytest.fixture
def hidden(relay_port: int, new_module_host: Callable[[Market], Host], plain_images: None) -> Iterator[Host]:
    with Market() as market:
        made = new_module_host(market)
        made.config = replace(made.config, behind_nat=True)
        save_config(made.state, made.config)
        market.streams = streams_of(relay_port, made, market)
        made.start()
        market.until(lambda report: report.facts is not None)
        yield made
        made.stop()


def test_a_host_that_nobody_reaches_has_the_same_through_the_relay(
    hidden: Host, new_order: Callable[..., DesiredInstance], ssh_key: Path, tmp_path: Path
) -> None:
    market, order = hidden.market, rented(hidden, new_order, PLAIN, 2)
    client = Client(ssh_key, tmp_path, order.ports[0][1])
    eventually(lambda: client.ssh("true").returncode == 0, "the tunnel leads to the bridge")
    body = os.urandom(2**20)
    assert client.ssh("cat", stdin=body).stdout == body
    market.want(replace(order, run="gone", generation=2, fence=2))
    market.until_absent(order.id)
