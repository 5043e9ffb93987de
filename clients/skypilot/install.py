"""Change the SkyPilot of this Python for a market of Berth: `python install.py`, run by the Python that has it.

It applies `patches/` by `git apply`. Run twice, it does nothing more.
"""

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
WANTED: Final = "0.14.1"
PATCH: Final = HERE / "patches" / f"skypilot-{WANTED}.patch"


def main() -> None:
    """Check the version, then patch as a whole or not at all."""
    try:
        found = version("skypilot")
    except PackageNotFoundError:
        sys.exit(f"SkyPilot isn't installed here: pip install -r {HERE / 'requirements.txt'}")
    if found != WANTED:
        sys.exit(f"SkyPilot {found} is installed, and the patch is for {WANTED}. Nothing was changed.")
    site = site_of("sky")
    if git_apply(site, "--reverse", "--check", PATCH).returncode != 0:
        done = git_apply(site, "--check", PATCH)
        if done.returncode != 0:
            sys.exit(f"{PATCH.name} doesn't fit what is installed in {site}:\n{done.stderr}")
        git_apply(site, PATCH).check_returncode()
    sys.stdout.write(f"SkyPilot {WANTED}: changed for Berth\n")


def site_of(package: str) -> Path:
    """Return the folder that an installed package is in."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        sys.exit(f"{package} can't be imported.")
    return Path(next(iter(spec.submodule_search_locations))).parent


def git_apply(site: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run `git apply` on files that may lie inside a repository, which isn't theirs."""
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(site.parent), "GIT_DIR": os.devnull}
    line = ["git", "apply", "-p1", *map(str, words)]
    return subprocess.run(line, cwd=site, env=env, capture_output=True, text=True, check=False)  # noqa: S603 our words


if __name__ == "__main__":
    main()
