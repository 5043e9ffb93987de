"""Which tests one of xdist's workers runs together: those that share a stack, a market or a browser, file by file.

Each worker that ran some of a file would start its own. xdist's own marks for groups have no effect with pytest 9: they
change an attribute that it does not read any more.
"""

from typing import Any, Final

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

_BY_FILE: Final = (
    "tests/docker/",
    "tests/clients/",
    "tests/stack/",
    "tests/ops/",
    "tests/web/test_browser",
    "tests/vast/test_cli",
)
_AS_A_WHOLE: Final = ("tests/docker/journeys/",)


def together(nodeid: str) -> str:
    """Return what all tests have in common that belong to one worker."""
    for folder in _AS_A_WHOLE:
        if nodeid.startswith(folder):
            return folder
    return nodeid.partition("::")[0] if nodeid.startswith(_BY_FILE) else nodeid


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """The largest of these first, then all other tests one by one."""

    def _split_scope(self, nodeid: str) -> str:
        return together(nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    return Scheduling(config, log)
