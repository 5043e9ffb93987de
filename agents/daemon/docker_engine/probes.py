"""Probes of the acceptance test: the environment of a container's first process, and the SSH banner."""

import socket
from pathlib import Path

from agents.daemon.docker_engine import network_namespace
from agents.daemon.engine.interface import SSH_PORT

BANNER = b"SSH-2.0"
TRY_TIMEOUT = 2.0
GPU_VARIABLE = "NVIDIA_VISIBLE_DEVICES="


def gpus_in_env(env: list[str]) -> frozenset[str]:
    """Return the GPU UUIDs of the last NVIDIA_VISIBLE_DEVICES, which is the one that counts."""
    values = [item.removeprefix(GPU_VARIABLE) for item in env if item.startswith(GPU_VARIABLE)]
    if not values or values[-1] in ("", "void", "none"):
        return frozenset()
    return frozenset(values[-1].split(","))


def env_of_process(pid: int) -> list[str] | None:
    """Return the environment of a process; None if the kernel refuses to show it."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return None


def ssh_banner(address: str, port: int) -> bool:
    """Try once to read an SSH banner; an open port proves nothing, as the engine's proxy accepts first."""
    try:
        return _greets(socket.create_connection((address, port), timeout=TRY_TIMEOUT))
    except OSError:
        return False


def ssh_banner_inside(pid: int, container: str) -> bool:
    """Try once to read an SSH banner inside the container's network, where no port is published."""
    try:
        return _greets(network_namespace.connect_inside(pid, container, SSH_PORT))
    except OSError:
        return False


def _greets(wire: socket.socket) -> bool:
    with wire:
        wire.settimeout(TRY_TIMEOUT)
        return wire.recv(64).startswith(BANNER)
