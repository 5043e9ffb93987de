"""Two sides of different age find the newest protocol both know, or say who must be upgraded."""

import pytest

from agents.protocol.version import CURRENT, SUPPORTED, VersionMismatch, negotiate


def test_the_newest_common_version_wins() -> None:
    assert negotiate([1, 99]) == 1
    assert CURRENT in SUPPORTED


@pytest.mark.parametrize("offered", [[], [0], [99]])
def test_without_a_common_one_it_says_so(offered: list[int]) -> None:
    with pytest.raises(VersionMismatch, match="upgrade"):
        negotiate(offered)
