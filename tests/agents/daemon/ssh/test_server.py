"""The bridge without an engine: who gets in, how many, and files through a shell of this machine in a folder of the test."""

import asyncio
import inspect
import os
import random
import socket
import stat
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncssh
import pytest
from asyncssh.sftp import SFTPServer

from agents.daemon.docker_engine.container_spec import published_ports
from agents.daemon.engine.exec_interface import Command, Terminal
from agents.daemon.engine.interface import EngineRefused, spec_of
from agents.daemon.engine.ssh_interface import SshAccess, ssh_access_of
from agents.daemon.ssh.keys import HostKeys, is_password, known_keys
from agents.daemon.ssh.server import UNAUTHENTICATED_PER_ADDRESS, EmbeddedSshGateway
from agents.daemon.ssh.session import FIND_SFTP, SIGNAL_SCRIPT
from agents.daemon.ssh.sftp import ContainerFiles
from agents.protocol.messages import DesiredInstance
from tests.agents.daemon.local_programs import LocalCommand

# "correct horse", as the control plane hashes passwords.
HASHED = "$7$C6..../....iGsFuG4.XOxe18HXIaxBV/$9UUVrhQ0u9juhjB0BVRTKH/98/SV2yCJiU6KEe2AjW6"


class LocalInside:
    """In place of a container: this machine, with a home of the test's own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.there = True

    def command(self, instance: str, words: Sequence[str], env: Mapping[str, str]) -> Command:
        if not self.there:
            raise EngineRefused("The instance is not running.", missing=True)
        if SIGNAL_SCRIPT in words or FIND_SFTP in words:
            words = ["true"]
        return LocalCommand(words, {**env, "HOME": str(self.home), "PATH": os.environ["PATH"]})

    def connect(self, instance: str, port: int) -> socket.socket:
        return socket.create_connection(("127.0.0.1", port), timeout=5)

    def screen(self, instance: str, words: Sequence[str], env: Mapping[str, str]) -> Terminal:
        raise NotImplementedError

    def terminal(self, instance: str, session: str, size: tuple[int, int]) -> Terminal:
        raise NotImplementedError

    def hang_up(self, instance: str, keep: Sequence[str]) -> None:
        raise NotImplementedError

    def close(self) -> None:
        return None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wanted(key: asyncssh.SSHKey, **changes: Any) -> DesiredInstance:
    line = key.export_public_key().decode().strip()
    stated = {
        "id": uuid.uuid4().hex,
        "ports": [(22, free_port()), (8888, 1)],
        "ssh_keys": [line],
        "has_ssh": False,
        **changes,
    }
    return DesiredInstance(generation=1, fence=1, run=stated.pop("run", "running"), image="any", **stated)


@pytest.fixture
def inside(tmp_path: Path) -> LocalInside:
    home = tmp_path / "home"
    home.mkdir()
    return LocalInside(home)


@pytest.fixture
def bridge(inside: LocalInside, tmp_path: Path) -> Iterator[EmbeddedSshGateway]:
    made = EmbeddedSshGateway(inside, HostKeys(tmp_path / "keys"), "127.0.0.1")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def key() -> asyncssh.SSHKey:
    return asyncssh.generate_private_key("ssh-ed25519")


def login(order: DesiredInstance, **options: Any) -> Any:
    stated = {"username": "root", "known_hosts": None, "client_keys": None, "agent_path": None, "config": None, **options}
    return asyncssh.connect("127.0.0.1", order.ports[0][1], **stated)


def enters(order: DesiredInstance, **options: Any) -> bool:
    async def attempt() -> bool:
        try:
            async with login(order, **options) as connection:
                return str((await connection.run("echo in", check=True)).stdout) == "in\n"
        except (asyncssh.PermissionDenied, asyncssh.ConnectionLost, OSError):
            return False

    return asyncio.run(asyncio.wait_for(attempt(), 30))


def test_only_running_instances_without_a_server_have_a_door(key: asyncssh.SSHKey) -> None:
    own, other = wanted(key, allow_from=["10.0.0.0/8"]), wanted(key, has_ssh=True)
    ended, closed = wanted(key, run="stopped"), wanted(key, ports=[])
    assert ssh_access_of([own, other, ended, closed]) == {
        own.id: SshAccess(own.ports[0][1], tuple(own.ssh_keys), "", ("10.0.0.0/8",)),
    }
    assert published_ports(own) == [("8888/tcp", 1)], "no container has the agent's port"
    assert published_ports(other) == [(f"{inside}/tcp", outside) for inside, outside in other.ports]
    assert spec_of(own) != spec_of(wanted(key, has_ssh=True, ports=own.ports))


def test_a_host_key_is_made_once_for_root_alone_and_goes_with_its_instance(tmp_path: Path) -> None:
    keys = HostKeys(tmp_path / "keys")
    first = keys.of("a")
    assert HostKeys(tmp_path / "keys").of("a").public_data == first.public_data
    assert keys.of("b").public_data != first.public_data
    assert stat.S_IMODE((tmp_path / "keys" / "a").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
    assert keys.leftovers("a") == ["host key"]
    keys.delete("a")
    keys.delete("a")
    assert keys.leftovers("a") == []
    assert keys.of("a").public_data != first.public_data


def test_a_line_that_is_no_key_lets_nobody_in(key: asyncssh.SSHKey) -> None:
    line = key.export_public_key().decode()
    assert known_keys([line, "nonsense", "", "ssh-ed25519 AAAA", 'command="x" ' + line]) == {key.public_data}


@pytest.mark.parametrize(
    "hashed", ["", "!", "$6$salt$hash", "$7$", "$7$z6..../....salt$key", "$7$C6....zzzzzsalt$key", "$7$C6..../....salt$"]
)
def test_what_is_no_hash_of_ours_matches_no_password(hashed: str) -> None:
    assert not is_password("", hashed)
    assert not is_password("correct horse", hashed)


def test_keys_and_password_change_under_open_sessions(
    bridge: EmbeddedSshGateway, key: asyncssh.SSHKey, inside: LocalInside
) -> None:
    order, other = wanted(key), asyncssh.generate_private_key("ssh-ed25519")
    bridge.apply([order])
    assert bridge.answers(order.id)
    assert enters(order, client_keys=[key])
    assert not enters(order, client_keys=[other])
    assert not enters(order, client_keys=[key], username="nobody")
    assert not enters(order, password="correct horse")
    inside.there = False
    assert not enters_quietly(order, key)
    inside.there = True

    async def story() -> None:
        async with login(order, client_keys=[key]) as connection:
            assert (await connection.run("echo in")).stdout == "in\n"
            assert bridge.sessions(order.id) == 1
            changed = wanted(other, id=order.id, ports=order.ports, password_hash=HASHED)
            await asyncio.to_thread(bridge.apply, [changed])
            assert (await connection.run("echo still in")).stdout == "still in\n"
            await asyncio.to_thread(bridge.apply, [wanted(key, id=order.id, ports=order.ports, run="stopped")])
            await asyncio.wait_for(connection.wait_closed(), 10)

    asyncio.run(asyncio.wait_for(story(), 30))
    assert not bridge.answers(order.id)
    assert bridge.sessions(order.id) == 0
    changed = wanted(other, id=order.id, ports=order.ports, password_hash=HASHED)
    bridge.apply([changed])
    assert enters(changed, client_keys=[other])
    assert not enters(changed, client_keys=[key])
    assert enters(changed, password="correct horse")
    assert not enters(changed, password="wrong horse")
    bridge.apply([])
    assert not enters(changed, client_keys=[other])


def enters_quietly(order: DesiredInstance, key: asyncssh.SSHKey) -> bool:
    """Whether a command runs; it must say why not."""

    async def attempt() -> bool:
        async with login(order, client_keys=[key]) as connection:
            done = await connection.run("echo in")
            assert "not running" in str(done.stderr)
            return bool(done.exit_status == 0)

    return asyncio.run(asyncio.wait_for(attempt(), 30))


def banner(order: DesiredInstance) -> bytes:
    with socket.create_connection(("127.0.0.1", order.ports[0][1]), timeout=10) as wire:
        wire.settimeout(10)
        try:
            return wire.recv(20)
        except ConnectionResetError:
            return b""


def test_who_is_taken_off_the_list_is_cut_off_at_once(bridge: EmbeddedSshGateway, key: asyncssh.SSHKey) -> None:
    order = wanted(key, allow_from=["127.0.0.0/8", "2001:db8::/32"])
    shut = wanted(key, id=order.id, ports=order.ports, allow_from=["203.0.113.0/24"])
    bridge.apply([order])
    assert banner(order) == b"SSH-2.0-Berth\r\n"

    async def story() -> None:
        async with login(order, client_keys=[key]) as connection:
            await asyncio.to_thread(bridge.apply, [shut])
            await asyncio.wait_for(connection.wait_closed(), 10)

    asyncio.run(asyncio.wait_for(story(), 30))
    assert banner(order) == b"", "not a word to who is not on the list"
    with closing_tunnel(bridge, order) as wire:
        assert wire.recv(20).startswith(b"SSH-2.0"), "the relay has looked at who comes by a tunnel"
    bridge.apply([order])
    assert enters(order, client_keys=[key])


@contextmanager
def closing_tunnel(bridge: EmbeddedSshGateway, order: DesiredInstance) -> Iterator[socket.socket]:
    wire = bridge.connection(order.id)
    assert wire is not None
    with wire:
        wire.settimeout(10)
        yield wire


def test_strangers_cannot_keep_the_renter_out(bridge: EmbeddedSshGateway, key: asyncssh.SSHKey) -> None:
    order = wanted(key)
    bridge.apply([order])
    assert bridge.connection("unknown") is None

    async def story() -> None:
        async with login(order, client_keys=[key]) as connection:
            silent = [socket.create_connection(("127.0.0.1", order.ports[0][1])) for _ in range(UNAUTHENTICATED_PER_ADDRESS)]
            for wire in silent:
                wire.settimeout(10)
                assert await asyncio.to_thread(wire.recv, 4) == b"SSH-"
            assert await asyncio.to_thread(banner, order) == b"", "one more than may wait"
            assert (await connection.run("echo on")).stdout == "on\n", "who is in stays in"
            with closing_tunnel(bridge, order) as wire:
                assert wire.recv(4) == b"SSH-", "other addresses are not counted"
            for wire in silent:
                wire.close()

    asyncio.run(asyncio.wait_for(story(), 60))


def test_a_connection_that_the_end_overtakes_is_closed(inside: LocalInside, tmp_path: Path, key: asyncssh.SSHKey) -> None:
    bridge, order = EmbeddedSshGateway(inside, HostKeys(tmp_path / "keys"), None), wanted(key)
    bridge.apply([order])
    loop = bridge._ensure_loop()
    held = threading.Event()
    loop.call_soon_threadsafe(held.wait, 10)
    with ThreadPoolExecutor(1) as threads:
        ending = threads.submit(bridge.apply, [])
        while not loop._ready:  # type: ignore[attr-defined]  # the order to close it lies there before the connection
            time.sleep(0.01)
        near = bridge.connection(order.id)
        held.set()
        assert near is not None
        with near:
            ending.result(20)
            near.settimeout(5)
            assert near.recv(1) == b""
    bridge.stop()


def test_a_port_that_is_taken_is_had_once_it_is_free(bridge: EmbeddedSshGateway, key: asyncssh.SSHKey) -> None:
    order = wanted(key)
    with socket.create_server(("127.0.0.1", order.ports[0][1])):
        bridge.apply([order])
        assert not bridge.answers(order.id)
        bridge.apply([order])
    end = time.monotonic() + 30
    while not bridge.answers(order.id):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert enters(order, client_keys=[key])
    bridge.apply([])
    with socket.create_server(("127.0.0.1", order.ports[0][1])):
        assert not bridge.answers(order.id), "free at once when the instance needs it no more"


def test_what_is_not_offered_is_refused(bridge: EmbeddedSshGateway, key: asyncssh.SSHKey) -> None:
    order = wanted(key)
    bridge.apply([order])

    async def story() -> None:
        async with login(order, client_keys=[key], agent_forwarding=False) as connection:
            with pytest.raises(asyncssh.ChannelListenError):
                await connection.forward_remote_port("", 0, "127.0.0.1", 9)
            with pytest.raises(asyncssh.ChannelListenError):
                await connection.forward_remote_path("/tmp/never", "/tmp/never")
            for host, port in (("10.0.0.1", 80), ("example.org", 443), ("127.0.0.1", free_port())):
                with pytest.raises(asyncssh.ChannelOpenError):
                    await connection.open_connection(host, port)
            with pytest.raises(asyncssh.ChannelOpenError):
                await connection.open_unix_connection("/var/run/docker.sock")
            with pytest.raises(asyncssh.ChannelOpenError):
                await connection.create_process(subsystem="netconf")
            with socket.create_server(("127.0.0.1", 0)) as listener:
                reader, writer = await connection.open_connection("localhost", listener.getsockname()[1])
                wire, _ = await asyncio.to_thread(listener.accept)
                with wire:
                    writer.write(b"ping")
                    assert await asyncio.to_thread(wire.recv, 4) == b"ping"
                    wire.sendall(b"pong")
                assert await reader.read() == b"pong"
                writer.write_eof()  # the program has gone already: so has the connection then
                await asyncio.wait_for(writer.channel.wait_closed(), 10)

    asyncio.run(asyncio.wait_for(story(), 60))


def test_no_request_for_files_is_left_to_the_library() -> None:
    """What it did itself it would do to this machine, as root."""
    own = {name for name, kind in vars(SFTPServer).items() if inspect.isfunction(kind) and not name.startswith("_")}
    kept = {"convert_attrs", "format_longname"}  # of what was asked of us
    assert own - set(vars(ContainerFiles)) == kept


NAMES = [
    "plain",
    "with space",
    "it's",
    '"quoted"',
    "你好",
    "-dash",
    "*",
    "$HOME",
    "new\nline",
    "back\\slash",
    "tab\t",
    ".hidden",
    "..odd",
]


def test_files_of_any_name_and_any_place_in_them(
    bridge: EmbeddedSshGateway, key: asyncssh.SSHKey, inside: LocalInside
) -> None:
    order, home = wanted(key), inside.home
    bridge.apply([order])
    chance = random.Random(5)

    async def story() -> None:
        async with login(order, client_keys=[key]) as connection, connection.start_sftp_client() as sftp:
            assert await sftp.realpath(".") == str(home)
            for name in NAMES:
                await sftp.mkdir(f"{name}/")
                async with sftp.open(f"{name}/{name}", "wb") as file:
                    await file.write(name.encode() * 3)
                assert (home / name / name).read_text() == name * 3
            assert sorted(await sftp.listdir(".")) == sorted([*NAMES, ".", ".."])
            await scribble(sftp, home / "scribbled", chance)
            await rename_and_remove(sftp, home)

    asyncio.run(asyncio.wait_for(story(), 120))


async def scribble(sftp: asyncssh.SFTPClient, path: Path, chance: random.Random) -> None:
    """Pieces of any size anywhere, large and small files, against a copy of it in memory."""
    copy = bytearray()
    async with sftp.open(str(path), "w+b") as file:
        for turn in range(40):
            at = chance.choice([len(copy), chance.randrange(len(copy) + 1), len(copy) + chance.randrange(5000)])
            piece = chance.randbytes(chance.choice([1, 700, 32768, 300_000 if turn % 9 == 0 else 5]))
            await file.write(piece, at)
            copy.extend(bytes(max(0, at - len(copy))))
            copy[at : at + len(piece)] = piece
            if turn % 4 == 0:
                start, count = chance.randrange(len(copy)), chance.choice([1, 5000, 200_000])
                found: object = await file.read(count, start)
                assert found == copy[start : start + count]
            if turn % 7 == 0:
                assert (await file.stat()).size == len(copy)
    assert path.read_bytes() == copy
    async with sftp.open(str(path), "ab") as file:
        await file.write(b"more")
        await file.write(b" and more")
    assert path.read_bytes() == copy + b"more and more"


async def rename_and_remove(sftp: asyncssh.SFTPClient, home: Path) -> None:
    (home / "one").write_text("1")
    (home / "two").write_text("2")
    with pytest.raises(asyncssh.SFTPError):
        await sftp.rename("one", "two")
    await sftp.posix_rename("one", "two")
    assert (home / "two").read_text() == "1"
    await sftp.symlink("two", "link")
    assert await sftp.readlink("link") == "two"
    assert (await sftp.lstat("link")).type == asyncssh.FILEXFER_TYPE_SYMLINK
    await sftp.chmod("two", 0o640)
    await sftp.utime("two", (1_000_000_000, 1_100_000_000))
    found = (home / "two").stat()
    assert (stat.S_IMODE(found.st_mode), int(found.st_atime), int(found.st_mtime)) == (0o640, 1_000_000_000, 1_100_000_000)
    await sftp.truncate("two", 0)
    assert (home / "two").read_text() == ""
    await sftp.link("two", "twin")
    assert (home / "twin").stat().st_nlink == 2
    assert (await sftp.statvfs(".")).bsize > 0
    await sftp.remove("link")
    assert (home / "two").exists()
    with pytest.raises(asyncssh.SFTPNoSuchFile):
        await sftp.remove("link")
    with pytest.raises(asyncssh.SFTPNoSuchFile):
        await sftp.stat("nowhere")
    with pytest.raises(asyncssh.SFTPNoSuchFile):
        await sftp.open("no/such/folder", "wb")
    with pytest.raises(asyncssh.SFTPError):
        await sftp.open("plain", "rb")
    with pytest.raises(asyncssh.SFTPError):
        await sftp.rmdir("plain")
    await sftp.remove("plain/plain")
    await sftp.rmdir("plain")
    assert not (home / "plain").exists()


def test_a_client_cannot_fill_the_memory_of_the_agent(
    bridge: EmbeddedSshGateway, key: asyncssh.SSHKey, inside: LocalInside
) -> None:
    order, (many, long) = wanted(key), ({f"LC_{number}": "x" for number in range(500)}, {"LC_LONG": "x" * 5000})
    bridge.apply([order])
    (inside.home / "large").write_bytes(bytes(2**20))

    async def story() -> None:
        async with login(order, client_keys=[key]) as connection:
            output = str((await connection.run("env | grep -c ^LC_", env=long | many)).stdout)
            assert output == "64\n"
            async with connection.start_sftp_client() as sftp, sftp.open("large", "rb", block_size=0) as file:
                assert len(bytes(await file.read(2**20))) == 256 * 1024, "a part is a lawful answer"

    asyncio.run(asyncio.wait_for(story(), 60))
