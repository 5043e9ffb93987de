"""Run it: `make seeded-faults` (FAULTS="money agent" narrows it to the names that contain one of these).

Each fault is written into a copy of the tree, and its nearest tests run there, on one PostgreSQL for all. A fault is
*caught* when a test fails, *missed* when all pass, and an *error* when it does not fit its file, no test ran or a fixture
failed. Exits with 1 unless all are caught. The tests as they are must pass: those of a fault that is caught are not run
without it.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Final

import pytest

from tests.seeded_faults.catalogue import FAULTS
from tests.seeded_faults.fault import ROOT, Fault

SHARED: Final = ("node_modules", ".venv")  # linked, not copied: large, and no fault is in them
LEFT_OUT: Final = shutil.ignore_patterns(".git", ".berth", ".*_cache", ".hypothesis", "dist", *SHARED)
WITHOUT_SERVICES: Final = "tests/agents/daemon/"
LONGEST_S: Final = 900.0
FEW: Final = 12  # lines of the output that are shown where nothing could be run


class Verdict(StrEnum):
    """What became of one fault."""

    CAUGHT = "caught"
    MISSED = "missed"
    ERROR = "error"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make seeded-faults", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the names of faults; all without any")
    wanted = [fault for fault in FAULTS if _is_wanted(fault, parser.parse_args().names)]
    services = _start_services() if any(map(_needs_services, wanted)) else dict(os.environ)
    with _copy_of_tree() as tree:
        verdicts = [_report(number, len(wanted), fault, tree, services) for number, fault in enumerate(wanted, 1)]
    print(", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in Verdict))
    return int(not wanted or set(verdicts) != {Verdict.CAUGHT})


def try_fault(fault: Fault, tree: Path, services: dict[str, str]) -> tuple[Verdict, str]:
    """Run the fault's tests in the tree with the fault in it, and return the verdict and what explains an error.

    The file is as it was afterwards.
    """
    target = tree / fault.path
    sound = target.read_text()
    try:
        target.write_text(fault.applied_to(sound))
    except LookupError as error:
        return Verdict.ERROR, str(error)
    try:
        return _run(fault.tests, tree, services)
    finally:
        target.write_text(sound)


def _is_wanted(fault: Fault, names: Sequence[str]) -> bool:
    return not names or any(name in fault.name for name in names)


def _needs_services(fault: Fault) -> bool:
    return not all(test.startswith(WITHOUT_SERVICES) for test in fault.tests)


def _start_services() -> dict[str, str]:
    """Start PostgreSQL and Redis as a run of pytest does, and return the environment in which others use them."""
    from tests import services_plugin  # its import starts Redis

    services_plugin.start()
    return {**os.environ, services_plugin.SHARED: "1"}


@contextmanager
def _copy_of_tree() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="berth-faults-") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, symlinks=True, ignore=LEFT_OUT)
        for name in SHARED:
            if (ROOT / name).exists():
                (tree / name).symlink_to(ROOT / name)
        yield tree


def _report(number: int, of: int, fault: Fault, tree: Path, services: dict[str, str]) -> Verdict:
    begun = time.monotonic()
    verdict, why = try_fault(fault, tree, services)
    print(f"{number:3}/{of} {verdict:7} {time.monotonic() - begun:6.1f} s  {fault.name}", flush=True)
    if verdict == Verdict.MISSED:
        print(f"        {fault.path}: {' '.join(fault.tests)} pass all the same", flush=True)
    elif why:
        print("".join(f"        {line}\n" for line in why.splitlines()), end="", flush=True)
    return verdict


def _run(tests: Sequence[str], tree: Path, services: dict[str, str]) -> tuple[Verdict, str]:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(
            command, cwd=tree, env=services, capture_output=True, text=True, timeout=LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired:
        return Verdict.CAUGHT, ""  # what never ends is seen as well
    verdict = verdict_of(done.returncode, done.stdout)
    return verdict, "\n".join((done.stdout + done.stderr).splitlines()[-FEW:]) if verdict == Verdict.ERROR else ""


def verdict_of(code: int, output: str) -> Verdict:
    """Return the verdict of a run of pytest: a fixture that broke proves nothing of the fault."""
    if code == pytest.ExitCode.OK:
        return Verdict.MISSED
    failed = any(line.startswith("FAILED ") for line in output.splitlines())
    return Verdict.CAUGHT if code == pytest.ExitCode.TESTS_FAILED and failed else Verdict.ERROR


if __name__ == "__main__":
    sys.exit(main())
