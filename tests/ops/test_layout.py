"""Where a stack keeps its state and which ports it takes."""

import socket
from pathlib import Path

import pytest

from devserver.paths import Layout, layout_from_environment
from devserver.redis import is_taken, wait_for_port


def test_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BERTH_STATE", raising=False)
    monkeypatch.delenv("PORT", raising=False)
    layout = layout_from_environment()
    assert layout.state.name == ".berth"
    assert layout.url == "http://127.0.0.1:8000"


def test_ports_and_state_can_be_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BERTH_STATE", str(tmp_path))
    monkeypatch.setenv("PORT", "8137")
    layout = layout_from_environment()
    assert (layout.state, layout.port, layout.relay_port, layout.redis_port) == (tmp_path, 8137, 8138, 8139)
    assert layout.instance_ports == "23700-23799"


@pytest.mark.parametrize("port", ["0", "70000", "32768"])
def test_impossible_ports_are_refused(monkeypatch: pytest.MonkeyPatch, port: str) -> None:
    monkeypatch.setenv("PORT", port)
    with pytest.raises(SystemExit, match="PORT must lie between"):
        layout_from_environment()


def test_instance_ports_stay_below_those_of_outgoing_connections() -> None:
    for port in range(1, 32_001):
        first, last = Layout(Path("x"), port).instance_ports.split("-")
        assert 20_000 <= int(first) < int(last) < 32_768


def test_a_listening_port_is_taken() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        assert is_taken("127.0.0.1", port)
        wait_for_port("127.0.0.1", port)
    assert not is_taken("127.0.0.1", port)
    with pytest.raises(TimeoutError):
        wait_for_port("127.0.0.1", port, within_s=0.1)
