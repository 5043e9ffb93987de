"""Burn-in of one GPU in a separate process, which is killed as soon as an instance needs the GPU."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from agents.daemon.gpu import cuda_burn_in

DEADLINE_SECONDS: Final = 40.0
_POLL: Final = 0.05


class BenchmarkAborted(Exception):
    """An instance was given the GPU meanwhile, so the burn-in was aborted."""


class NotMeasurable(Exception):
    """The GPU cannot be measured here; the text says why."""


class BurnInFailed(Exception):
    """The measurement failed; the text says how."""


@dataclass(frozen=True)
class BurnInResult:
    """Result of one GPU.

    `proven_mib` of `asked_mib` were written and read back; `correct` says that every sum was right.
    """

    tflops: float
    correct: bool
    proven_mib: int
    asked_mib: int
    total_mib: int


def wipe_gpu(uuid: str, *, deadline_s: float = DEADLINE_SECONDS) -> int:
    """Overwrite the GPU's free memory with zeros and return the MiB.

    Raises:
        NotMeasurable: The GPU cannot be used here.
        BurnInFailed: The wipe failed.
    """
    outcome = _outcome(*_run(["wipe"], uuid, lambda: False, deadline_s))
    if not outcome["clean"]:
        raise BurnInFailed("what was overwritten does not read as zeros")
    return int(outcome["wiped_mib"])


def burn_in_gpu(uuid: str, needed: Callable[[], bool], *, deadline_s: float = DEADLINE_SECONDS) -> BurnInResult:
    """Burn the GPU in; `needed` is polled and aborts it.

    Raises:
        BenchmarkAborted: An instance needs the GPU.
        NotMeasurable: The GPU cannot be measured here.
        BurnInFailed: The measurement failed.
    """
    return BurnInResult(**_outcome(*_run([], uuid, needed, deadline_s)))


def _run(words: list[str], uuid: str, needed: Callable[[], bool], deadline_s: float) -> tuple[bytes, bytes, int]:
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": uuid}
    # our own program by its path, with a GPU's UUID in its environment
    command = [sys.executable, "-I", cuda_burn_in.__file__, *words]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603
        try:
            _await(process, needed, time.monotonic() + deadline_s)
            out, err = process.communicate()
        except BaseException:
            process.kill()
            raise
    return out, err, process.returncode


def _await(process: "subprocess.Popen[bytes]", needed: Callable[[], bool], end: float) -> None:
    while process.poll() is None:
        if needed():
            raise BenchmarkAborted
        if time.monotonic() > end:
            raise BurnInFailed("the GPU did not finish in time")
        time.sleep(_POLL)


def _outcome(out: bytes, err: bytes, status: int) -> dict[str, Any]:
    try:
        outcome: dict[str, Any] = json.loads(out)
    except ValueError as error:
        last = err.decode(errors="replace").strip().splitlines()[-1:] or [f"ended with {status}"]
        raise BurnInFailed(last[0]) from error
    if "error" in outcome:
        raise NotMeasurable(str(outcome["error"]))
    return outcome
