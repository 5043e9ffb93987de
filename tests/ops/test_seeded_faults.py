"""The list of seeded faults fits the product: each can be applied, and its tests exist. `make seeded-faults` runs them."""

import ast

import pytest

from tests.seeded_faults.__main__ import Verdict, verdict_of
from tests.seeded_faults.catalogue import FAULTS
from tests.seeded_faults.fault import ROOT, Fault


def test_names_are_unique() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 32


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_fits_its_file(fault: Fault) -> None:
    sound = (ROOT / fault.path).read_text()
    broken = fault.applied_to(sound)
    assert broken != sound
    ast.parse(broken)
    for test in fault.tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).exists(), test
        assert not name or f"def {name}(" in (ROOT / path).read_text(), test


def test_what_does_not_fit_is_an_error() -> None:
    fault = Fault("seeded: nothing", "manage.py", "no such text", "", ())
    with pytest.raises(LookupError, match="0 times"):
        fault.applied_to((ROOT / fault.path).read_text())


@pytest.mark.parametrize(
    ("code", "output", "verdict"),
    [
        (0, "1 passed", Verdict.MISSED),
        (1, "FAILED tests/a.py::test_a - assert 1 == 2\n1 failed", Verdict.CAUGHT),
        (1, "ERROR tests/a.py::test_a - FileNotFoundError\n1 error", Verdict.ERROR),
        (4, "ERROR: file or directory not found", Verdict.ERROR),
        (5, "no tests ran", Verdict.ERROR),
    ],
)
def test_only_a_test_that_fails_catches_a_fault(code: int, output: str, verdict: Verdict) -> None:
    assert verdict_of(code, output) == verdict
