"""A whole market with a simulated host, and the Python that has dstack with Berth's backend in it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.conftest import market

__all__ = ["market", "python"]

ROOT = Path(__file__).resolve().parent.parent.parent.parent
ENVIRONMENT = ROOT / ".venv-dstack"  # `make test-dstack` makes it


@pytest.fixture(scope="session")
def python() -> Path:
    """Dstack and gpuhunt as they are published, and then changed by `install.py` alone."""
    program = ENVIRONMENT / "bin" / "python"
    assert program.exists(), f"{ENVIRONMENT} isn't there: run `make test-dstack`"
    for _ in range(2):
        subprocess.run([program, ROOT / "clients" / "dstack" / "install.py"], check=True, stdout=sys.stderr)
    return program
