"""Write the Python client's models and resources from the OpenAPI document, or compare them.

python -m scripts.client_code            # writes clients/python/src/berth
python -m scripts.client_code --check    # names what is not up to date, and fails
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import django

django.setup()

from common.http.openapi import schema  # noqa: E402  (Django must be set up first)
from scripts.client_code.document import Document  # noqa: E402
from scripts.client_code.render import files  # noqa: E402

ROOT: Final = Path(__file__).resolve().parent.parent.parent
PACKAGE: Final = ROOT / "clients" / "python" / "src" / "berth"
GENERATED: Final = ("models", "_sync/resources", "_async/resources")


def generate(document: dict[str, Any]) -> dict[str, str]:
    """Return every generated module, formatted, by its path below the package."""
    return _formatted(files(Document(document)))


def differences(wanted: dict[str, str]) -> list[str]:
    """Return the paths whose file is missing, different, or not generated any more."""
    there = {
        file.relative_to(PACKAGE).as_posix(): file.read_text(encoding="utf-8")
        for folder in GENERATED
        for file in (PACKAGE / folder).glob("*.py")
    }
    return sorted(path for path in wanted.keys() | there.keys() if wanted.get(path) != there.get(path))


def write(wanted: dict[str, str]) -> list[str]:
    """Make the files equal to `wanted`; return the paths that changed."""
    changed = differences(wanted)
    for path in changed:
        file = PACKAGE / path
        if path in wanted:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(wanted[path], encoding="utf-8")
        else:
            file.unlink()
    return changed


def _formatted(texts: dict[str, str]) -> dict[str, str]:
    """Return the texts with sorted imports, as our linter formats them."""
    ruff, ours = str(Path(sys.executable).with_name("ruff")), f"--config={ROOT / 'pyproject.toml'}"
    with tempfile.TemporaryDirectory() as folder:
        for path, text in texts.items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        sort = [
            ruff,
            "check",
            ours,
            "--config=lint.isort.known-first-party=['berth']",
            "--select=I,F401",
            "--fix-only",
            "--quiet",
        ]
        for command in (sort, [ruff, "format", ours, "--quiet"]):
            subprocess.run([*command, folder], check=True)  # noqa: S603 our own linter
        return {path: Path(folder, path).read_text(encoding="utf-8") for path in texts}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.client_code", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    only_check = parser.parse_args().check
    wanted = generate(schema())
    changed = differences(wanted) if only_check else write(wanted)
    for path in changed:
        sys.stderr.write(f"{'differs' if only_check else 'wrote'}: {path}\n")
    return 1 if only_check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
