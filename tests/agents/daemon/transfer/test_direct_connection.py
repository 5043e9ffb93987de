"""The straight way between two hosts: taken where it holds, else the relay, and closed to everybody else."""

import queue
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from agents.daemon.disks.operation_runner import Operation
from agents.daemon.lib.errors import Failed, Superseded
from agents.daemon.transfer.direct_connection import (
    MOST_CALLERS,
    ConnectionRendezvous,
    Listener,
    OpenConnection,
    SocketChannel,
    dial,
)
from agents.daemon.transfer.instance_transfer import InstanceTransfer
from agents.daemon.transfer.transfer_protocol import ConnectionLost, EncryptedChannel
from tests.agents.daemon.transfer.test_instance_transfer import Exchange, Killed, Place, die_at, operation
from tests.agents.daemon.transfer.test_transfer_protocol import pipes
from tests.stack.harness import free_ports
from tests.waiting import wait_until

KEY = bytes(range(32))


@pytest.fixture
def port() -> int:
    return free_ports(1)[0]


@pytest.fixture
def calls(port: int) -> Iterator["queue.Queue[OpenConnection]"]:
    came: queue.Queue[OpenConnection] = queue.Queue()
    taken: list[OpenConnection] = []

    def take(opened: OpenConnection) -> None:
        taken.append(opened)
        came.put(opened)

    listener = Listener("127.0.0.1", port, KEY, take)
    yield came
    listener.close()
    for opened in taken:
        opened.line.close()


def test_what_one_says_the_other_hears(port: int, calls: "queue.Queue[OpenConnection]") -> None:
    here = dial("127.0.0.1", port, KEY, private=True)
    there = calls.get(timeout=10)
    here.sealed.send(b"x" * 1024 * 1024)
    there.sealed.send(b"and back")
    assert there.sealed.receive() == b"x" * 1024 * 1024 and here.sealed.receive() == b"and back"
    here.line.close()
    with pytest.raises(ConnectionLost):
        there.sealed.receive()


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_host_that_listens_on_both_families_is_called_on_either(address: str, port: int) -> None:
    came: queue.Queue[OpenConnection] = queue.Queue()
    listener = Listener("::", port, KEY, came.put)
    dial(address, port, KEY, private=True).line.close()
    came.get(timeout=10).line.close()
    listener.close()


def test_another_key_gets_no_line(port: int, calls: "queue.Queue[OpenConnection]") -> None:
    with pytest.raises(OSError):
        dial("127.0.0.1", port, bytes(32), private=True)
    assert calls.empty()


def test_what_was_sealed_for_one_line_says_nothing_on_the_next(port: int, calls: "queue.Queue[OpenConnection]") -> None:
    """Somebody in between who sends again what they heard."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as between:
        thread = threading.Thread(target=_listen_in, args=(between, port, heard))
        thread.start()
        dial("127.0.0.1", between.getsockname()[1], KEY, private=True).line.close()
        thread.join(10)
    calls.get(timeout=10)
    again = SocketChannel(socket.create_connection(("127.0.0.1", port)))
    again.send(heard[0])
    again.recv()
    again.send(heard[1])
    assert again.recv(10) == b"", "hung up on"
    assert calls.empty()
    again.close()


def _listen_in(between: socket.socket, port: int, heard: list[bytes]) -> None:
    caller, far = SocketChannel(between.accept()[0]), SocketChannel(socket.create_connection(("127.0.0.1", port)))
    for _ in range(2):
        heard.append(caller.recv())
        far.send(heard[-1])
        caller.send(far.recv())
    caller.close()
    far.close()


def test_with_the_listener_end_those_who_have_not_shown_the_key(port: int) -> None:
    """Nothing of it is left behind a move: no thread, no port, no connection, for as long as a proof may take."""
    before = set(threading.enumerate())
    listener = Listener("127.0.0.1", port, KEY, lambda opened: None)
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(MOST_CALLERS)]
    half = SocketChannel(silent[0])
    half.send(bytes(16))
    assert len(half.recv(10)) == 16, "it waits for the proof by now"
    wait_until("all are listened to", lambda: len(set(threading.enumerate()) - before) == 1 + MOST_CALLERS, timeout=20)
    listener.close()
    assert set(threading.enumerate()) <= before
    for one in silent:
        one.settimeout(5)
        assert one.recv(1) == b"", "hung up on at once"
        one.close()
    Listener("127.0.0.1", port, KEY, lambda opened: None).close()


def test_those_who_only_connect_keep_nobody_out_for_long(
    port: int, calls: "queue.Queue[OpenConnection]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.daemon.transfer.direct_connection.PROVE_S", 0.3)
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(3 * MOST_CALLERS)]
    try:
        wait_until("the one with the key to be let in", lambda: _is_let_in(port), timeout=20)
        assert calls.get(timeout=10).direct
    finally:
        for one in silent:
            one.close()


@pytest.mark.parametrize("dripping", [b"\0\0\1\0", b"\0\x10\0\0"])
def test_those_who_send_a_byte_at_a_time_keep_nobody_out_for_long(
    dripping: bytes, port: int, calls: "queue.Queue[OpenConnection]", monkeypatch: pytest.MonkeyPatch
) -> None:
    """And whoever has not shown the key is asked for no more than that takes."""
    monkeypatch.setattr("agents.daemon.transfer.direct_connection.PROVE_S", 0.5)
    slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(MOST_CALLERS)]
    for one in slow:
        one.sendall(dripping)
    ended = threading.Event()

    def drip() -> None:
        while not ended.wait(0.2):
            for one in slow:
                with suppress(OSError):
                    one.sendall(b"x")

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        wait_until("the one with the key to be let in", lambda: _is_let_in(port), timeout=20)
        assert calls.get(timeout=10).direct
    finally:
        ended.set()
        thread.join()
        for one in slow:
            one.close()


def _is_let_in(port: int) -> bool:
    with suppress(OSError):
        dial("127.0.0.1", port, KEY, private=True).line.close()
        return True
    return False


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "fd00::1", "localhost"]
)
def test_another_owners_host_is_not_dialled_at_an_address_of_this_network(address: str, port: int) -> None:
    with pytest.raises(ConnectionLost, match="may dial"):
        dial(address, port, KEY, private=False)


def line() -> OpenConnection:
    far, near = pipes()
    return OpenConnection(near, EncryptedChannel(near, KEY, is_source=False), direct=far is not None)


def _call_when(requested: threading.Event, meeting: ConnectionRendezvous, opened: OpenConnection) -> None:
    def call() -> None:
        requested.wait(10)
        meeting.called(opened)

    threading.Thread(target=call).start()


def test_a_call_comes_before_a_relay_at_which_nobody_is() -> None:
    meeting, requested, hold = ConnectionRendezvous(), threading.Event(), threading.Event()

    def by_relay() -> OpenConnection:
        requested.set()
        hold.wait(10)
        raise OSError("nobody came")

    called = line()
    _call_when(requested, meeting, called)
    assert meeting.wait(by_relay) is called
    hold.set()


def test_a_new_call_ends_a_line_that_is_broken_without_a_word() -> None:
    meeting, closed = ConnectionRendezvous(), []

    first, second = line(), line()
    first.line.close = lambda: closed.append("first")  # type: ignore[method-assign]  # what a socket would wake up from
    requested = threading.Event()

    def by_relay() -> OpenConnection:
        requested.set()
        threading.Event().wait(0.2)
        raise OSError("nobody came")

    _call_when(requested, meeting, first)
    assert meeting.wait(by_relay) is first
    meeting.called(second)
    assert closed == ["first"] and meeting.wait(by_relay) is second


# -- whole moves


def carry(
    here: Place,
    there: Place,
    port: int,
    *,
    relay: Exchange | None = None,
    listens: bool = True,
    checkpoint: Callable[[str], None] = lambda name: None,
    target_is_late: bool = False,
) -> dict[str, str] | Failed | Killed:
    """Both hosts at once, or the target once the source waits at the relay. Without `relay` nobody meets there."""

    def nobody(pair: str, ticket: str) -> object:
        threading.Event().wait(0.05)
        raise OSError("nobody came")

    def order(kind: str, side: int) -> Operation:
        return operation(kind, side=side, direct_address="127.0.0.1", direct_port=str(port), direct_private="1")

    sending = order("send_root", 0)
    dials = [relay.dial(side) for side in (0, 1)] if relay else [nobody, nobody]
    sender = InstanceTransfer(roots=here.roots, disks=here.disks, state=here.state, open_peer=dials[0])  # type: ignore[arg-type]
    target = InstanceTransfer(
        roots=there.roots,
        disks=there.disks,
        state=there.state,
        open_peer=dials[1],  # type: ignore[arg-type]
        listen_at=lambda port: "127.0.0.1" if listens else "",
        checkpoint=checkpoint,
    )

    def send() -> None:
        with suppress(Superseded, Failed):
            sender.operators()["send_root"](sending)

    thread = threading.Thread(target=send)
    thread.start()
    if target_is_late and relay:
        wait_until("the source to wait at the relay", lambda: relay.barrier.n_waiting == 1)
    try:
        return dict(target.operators()["receive_root"](order("receive_root", 1)))
    except (Failed, Killed) as met:
        return met
    finally:
        sending.unwanted = True
        sending.cancelled.set()
        if relay:
            relay.barrier.abort()
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.daemon.transfer.transfer_session.PAUSE", 0.01)


@pytest.fixture
def here(tmp_path: Path) -> Place:
    return Place(tmp_path / "here", holds=True)


@pytest.fixture
def there(tmp_path: Path) -> Place:
    return Place(tmp_path / "there", holds=False)


def test_a_move_goes_straight_where_the_hosts_reach_each_other(here: Place, there: Place, port: int) -> None:
    outcome = carry(here, there, port)
    assert isinstance(outcome, dict) and outcome["way"] == "direct"
    assert there.has_all_of(here)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0, "the port is the instance's again"


def test_a_target_that_got_its_order_late_is_dialled_once_it_is_there(here: Place, there: Place, port: int) -> None:
    outcome = carry(here, there, port, relay=Exchange(), target_is_late=True)
    assert isinstance(outcome, dict) and outcome["way"] == "direct" and there.has_all_of(here)


def test_a_receiver_that_was_killed_is_called_again(here: Place, there: Place, port: int) -> None:
    assert isinstance(carry(here, there, port, checkpoint=die_at("chunk", 3)), Killed)
    outcome = carry(here, there, port)
    assert isinstance(outcome, dict) and outcome["way"] == "direct" and there.has_all_of(here)


def test_where_nobody_listens_it_goes_by_the_relay(here: Place, there: Place, port: int) -> None:
    outcome = carry(here, there, port, relay=Exchange(), listens=False)
    assert isinstance(outcome, dict) and outcome["way"] == "relay" and there.has_all_of(here)


def test_a_port_that_something_else_has_is_left_to_it(here: Place, there: Place, port: int) -> None:
    with socket.create_server(("127.0.0.1", port)):
        outcome = carry(here, there, port, relay=Exchange())
    assert isinstance(outcome, dict) and outcome["way"] == "relay" and there.has_all_of(here)
