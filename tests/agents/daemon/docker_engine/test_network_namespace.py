"""The way into a container's network is never a way into this machine's own; simulated doors say what they are."""

import os
from pathlib import Path

import pytest

from agents.daemon.docker_engine.network_namespace import NotInside, connect_inside
from agents.daemon.engine.exec_interface import SimulatedExec


def test_a_process_that_is_not_the_container_s_is_not_followed() -> None:
    with pytest.raises(NotInside, match="not of the container"):
        connect_inside(os.getpid(), "f" * 64, 22)


def test_this_machine_s_own_network_is_never_taken_for_a_container_s() -> None:
    with pytest.raises(NotInside, match="own network"):
        connect_inside(os.getpid(), "", 22)  # every control group's text holds the empty name


def test_a_process_that_has_ended_or_is_not_seen_leads_nowhere(tmp_path: Path) -> None:
    with pytest.raises(NotInside, match="cannot be seen"):
        connect_inside(2**22, "f" * 64, 22, proc=tmp_path)


def test_simulated_doors_say_so() -> None:
    published_ports = SimulatedExec()
    with published_ports.connect("a", 8888) as port:
        port.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert b"503 Simulated" in port.recv(4096)
    terminal = published_ports.terminal("a", "s", (80, 24))
    assert b"SIMULATED" in terminal.first
    with terminal.connection as screen:
        screen.settimeout(5)
        screen.sendall(b"hi\r exit\r")
        seen = b""
        while piece := screen.recv(100):
            seen += piece
    assert seen.startswith(b"hi\r\nsimulated")
    assert terminal.exit_code() == 0
