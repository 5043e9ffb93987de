"""The wheel in an environment of its own, without anything of ours; its libraries are lent, since tests ask no index."""

import subprocess
import sys
import venv
from pathlib import Path
from types import ModuleType

import click
import msgspec
import platformdirs

LENT: tuple[ModuleType, ...] = (click, msgspec, platformdirs)


def install(wheel: Path, folder: Path) -> Path:
    """Install a wheel, and return the program `berth`."""
    env, lent = folder / "env", folder / "lent"
    venv.create(env, with_pip=False, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", str(env / "bin" / "python")]
    subprocess.run([*pip, "install", "--no-index", "--no-deps", str(wheel)], check=True, capture_output=True)
    (site,) = env.glob("lib/python*/site-packages")
    lent.mkdir()
    for library in LENT:
        assert library.__file__
        (lent / library.__name__).symlink_to(Path(library.__file__).parent)
    (site / "lent.pth").write_text(f"{lent}\n")
    return env / "bin" / "berth"
