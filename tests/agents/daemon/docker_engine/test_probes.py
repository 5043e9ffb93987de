"""What the acceptance test sees from outside."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from agents.daemon.docker_engine.probes import env_of_process, gpus_in_env, ssh_banner


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ([], set()),
        (["NVIDIA_VISIBLE_DEVICES=void"], set()),
        (["NVIDIA_VISIBLE_DEVICES=none"], set()),
        (["NVIDIA_VISIBLE_DEVICES="], set()),
        (["A=1", "NVIDIA_VISIBLE_DEVICES=GPU-1,GPU-2"], {"GPU-1", "GPU-2"}),
        (["NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_VISIBLE_DEVICES=GPU-1"], {"GPU-1"}),
    ],
)
def test_the_last_word_counts(env: list[str], expected: set[str]) -> None:
    assert gpus_in_env(env) == expected


def test_the_environment_of_a_process() -> None:
    env = {**os.environ, "NVIDIA_VISIBLE_DEVICES": "GPU-9"}
    code = "print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None and process.stdout.readline()  # a new process has no environment at first
        found = env_of_process(process.pid)
        process.communicate(b"\n")
    assert found is not None and gpus_in_env(found) == {"GPU-9"}
    assert env_of_process(2**22 + 1) is None


@pytest.fixture
def answer() -> Iterator[Callable[[bytes], int]]:
    """A port that says something to whoever connects."""
    listeners: list[socket.socket] = []

    def serve(words: bytes) -> int:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def speak() -> None:
            wire, _ = listener.accept()
            with wire:
                wire.sendall(words)

        threading.Thread(target=speak, daemon=True).start()
        return int(listener.getsockname()[1])

    yield serve
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize(
    ("words", "expected"), [(b"SSH-2.0-OpenSSH_9.2p1\r\n", True), (b"HTTP/1.1 400\r\n", False), (b"", False)]
)
def test_only_a_banner_is_an_answer(answer: Callable[[bytes], int], words: bytes, expected: bool) -> None:
    assert ssh_banner("127.0.0.1", answer(words)) is expected


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert ssh_banner("127.0.0.1", port) is False
