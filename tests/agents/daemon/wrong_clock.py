"""A machine whose wall clock is wrong, for a process of its own: what only measures (CLOCK_MONOTONIC) goes on as it did."""

import subprocess
from pathlib import Path


def wrong_clock(folder: Path, off: Path) -> dict[str, str]:
    """Return what such a process has in its environment. `off` holds the seconds by which it is wrong; it may change."""
    library = folder / "shifted_clock.so"
    if not library.exists():
        source = Path(__file__).with_name("shifted_clock.c")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), "CLOCK_OFF_FILE": str(off)}
