"""Add Berth to the gpuhunt and dstack of this Python: `python install.py`, run by the Python that has them.

It copies the provider and the backend beside the others and applies `patches/` by `git apply`. Run twice, it does nothing
more.
"""

import os
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
VERSIONS: Final = {"gpuhunt": "0.1.34", "dstack": "0.22.5"}
COPIES: Final = {
    "gpuhunt": (HERE / "gpuhunt", "gpuhunt/providers"),
    "dstack": (HERE / "backend", "dstack/_internal/core/backends/berth"),
}


def main() -> None:
    """Check the versions, then copy and patch."""
    for package, wanted in VERSIONS.items():
        try:
            found = version(package)
        except PackageNotFoundError:
            sys.exit(f"{package} isn't installed here: pip install -r {HERE / 'requirements.txt'}")
        if found != wanted:
            sys.exit(f"{package} {found} is installed, and the patch is for {wanted}. Nothing was changed.")
    for package in VERSIONS:
        site = site_of(package)
        patch(site, HERE / "patches" / f"{package}-{VERSIONS[package]}.patch")
        source, target = COPIES[package]
        (site / target).mkdir(exist_ok=True)
        for file in sorted(source.glob("*.py")):
            shutil.copyfile(file, site / target / file.name)
        sys.stdout.write(f"{package} {VERSIONS[package]}: Berth is there\n")


def site_of(package: str) -> Path:
    """Return the folder that an installed package is in."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        sys.exit(f"{package} can't be imported.")
    return Path(next(iter(spec.submodule_search_locations))).parent


def patch(site: Path, file: Path) -> None:
    """Apply a patch as a whole or not at all; one that has been applied stays."""
    if git_apply(site, "--reverse", "--check", file).returncode == 0:
        return
    done = git_apply(site, "--check", file)
    if done.returncode != 0:
        sys.exit(f"{file.name} doesn't fit what is installed in {site}:\n{done.stderr}")
    git_apply(site, file).check_returncode()


def git_apply(site: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run `git apply` on files that may lie inside a repository, which isn't theirs."""
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(site.parent), "GIT_DIR": os.devnull}
    line = ["git", "apply", "-p1", *map(str, words)]
    return subprocess.run(line, cwd=site, env=env, capture_output=True, text=True, check=False)  # noqa: S603 our words


if __name__ == "__main__":
    main()
