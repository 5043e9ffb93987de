"""How much of the random tests one run does: HYPOTHESIS_PROFILE is `default` by hand, `ci` in `make test`, or `long`."""

import os
from typing import Final

PROFILE: Final = os.environ.get("HYPOTHESIS_PROFILE", "default")
IS_LONG: Final = PROFILE == "long"


def examples(usually: int, *, long: int) -> int:
    """Return how many examples or seeds to run: `long` after a change of what they are about, else `usually`."""
    return long if IS_LONG else usually
