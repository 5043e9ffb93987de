"""The machine of a SkyPilot API server: its Python, its home, the market that it uses."""

import csv
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.stack.harness import Stack

ROOT = Path(__file__).resolve().parent.parent.parent.parent
ENVIRONMENT = ROOT / ".venv-skypilot"  # `make test-skypilot` makes it
INSTALL = ROOT / "clients" / "skypilot" / "install.py"
PROGRAM = Path(__file__).parent / "in_skypilot.py"


@dataclass(frozen=True)
class SkyPilot:
    """One of the two, as the Python and the folder that it looks for modules in first."""

    python: Path
    overlay: Path | None = None

    def env(self, home: Path, **more: str) -> dict[str, str]:
        """Return the environment of an API server with this home; the key is in its file alone."""
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG")}
        first = {"PYTHONPATH": str(self.overlay)} if self.overlay else {}
        return {**kept, **first, "HOME": str(home), "SKYPILOT_DISABLE_USAGE_COLLECTION": "1", **more}


class Server:
    """The machine of an API server, with a home of its own."""

    def __init__(self, home: Path, skypilot: SkyPilot, market: Stack, key: str) -> None:
        self.home, self.skypilot, self.market = home, skypilot, market
        config = home / ".config" / "vastai"
        config.mkdir(parents=True)
        (config / "vast_api_key").write_text(key + "\n")
        self.catalogues = home / ".sky" / "catalogs" / "v8"
        common = self.catalogues / "common" / "accelerators.csv"
        common.parent.mkdir(parents=True)
        common.write_text("AcceleratorName,Clouds\nRTX4090,['Vast']\n")  # SkyPilot would download its own

    def run(self, *words: str | Path, cwd: Path | None = None) -> str:
        env = self.skypilot.env(self.home, VAST_URL=self.market.url, ANSWER=str(self.home / "answer"))
        line = [self.skypilot.python, *words]
        done = subprocess.run(line, env=env, cwd=cwd, capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
        return done.stdout

    def program(self, *words: str) -> Any:
        self.run(PROGRAM, *words, cwd=self.home)
        return json.loads((self.home / "answer").read_text())

    def fetch(self) -> list[dict[str, str]]:
        """Write the catalogue by SkyPilot's own program, which leaves it below its folder."""
        self.run("-m", "sky.catalog.data_fetchers.fetch_vast", cwd=self.home)
        shutil.copytree(self.home / "vast", self.catalogues / "vast")
        return self.rows()

    def rows(self) -> list[dict[str, str]]:
        with (self.catalogues / "vast" / "vms.csv").open(newline="") as file:
            return list(csv.DictReader(file))
