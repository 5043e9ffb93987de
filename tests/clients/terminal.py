"""The command `berth` as a person or a script runs it: a process of its own, with a home of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# A test that runs in the background of a shell has Ctrl-C ignored, which its children inherit.
WITH_CTRL_C = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("berth", run_name="__main__")
"""
SOURCE = Path(__file__).resolve().parent.parent.parent / "clients" / "python" / "src"


@dataclass
class Terminal:
    """One person's machine. `program` is what `berth` stands for."""

    home: Path
    url: str = ""
    token: str = ""
    program: Sequence[str] = (sys.executable, "-m", "berth")
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "SSH_AUTH_SOCK")}
        own = {"HOME": str(self.home), "BERTH_CONFIG_DIR": str(self.home / "config"), "PYTHONPATH": str(SOURCE)}
        place = {name: value for name, value in (("BERTH_URL", self.url), ("BERTH_TOKEN", self.token)) if value}
        return {**kept, **own, **place, **self.settings}

    def run(self, *words: str, text: str = "", timeout: float = 120) -> subprocess.CompletedProcess[str]:
        line = [*self.program, *words]
        return subprocess.run(line, env=self.env, input=text, capture_output=True, text=True, timeout=timeout, check=False)

    def must(self, *words: str, text: str = "") -> str:
        done = self.run(*words, text=text)
        assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def json(self, *words: str) -> Any:
        """Standard output is one JSON value and nothing else."""
        return json.loads(self.must(*words, "--json"))
