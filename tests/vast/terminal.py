"""The command `vastai` as a person runs it, unmodified: a process of its own, with a home of its own."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = ROOT / ".venv-vastai" / "bin"


def installed() -> Path:
    """The folder of the client's programs; whoever runs this file alone gets it installed by its hashes."""
    make = ["make", "--silent", ".venv-vastai/.packages"]
    subprocess.run(make, cwd=ROOT, check=True, capture_output=True, timeout=280)
    return BIN


@dataclass
class VastTerminal:
    """One person's machine."""

    home: Path
    url: str
    key: str
    driven: ClassVar[list[str]] = []  # the verbs that were run with success, by anyone in this process

    @property
    def env(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG")}
        own = {"HOME": str(self.home), "COLUMNS": "300", "VASTAI_NO_UPDATE_CHECK": "1", "PYTHONWARNINGS": "ignore"}
        return {**kept, **own, "VAST_URL": self.url, "VAST_API_KEY": self.key}

    def run(self, *words: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        line = [str(BIN / "vastai"), *words]
        return subprocess.run(
            line, env=self.env, capture_output=True, text=True, timeout=timeout, check=False, stdin=subprocess.DEVNULL
        )

    def must(self, verb: str, *words: str) -> str:
        """Run a verb (`show instance`) and return what it prints; it exits with 0 even after an error of the API."""
        done = self.run(*verb.split(), *words)
        wrong = [
            word for word in ("Failed with error", '"error": true', "Traceback", "An error occurred") if word in done.stderr
        ]
        assert not wrong and "An error occurred" not in done.stdout, f"{verb} {words}: {done.stdout}{done.stderr}"
        self.driven.append(verb)
        return done.stdout

    def raw(self, verb: str, *words: str) -> Any:
        """Return the JSON that a verb prints with --raw."""
        out = self.must(verb, *words, "--raw")
        try:
            return json.loads(out)
        except ValueError:
            raise AssertionError(f"{verb} {words} printed no JSON: {out}") from None

    def refused(self, verb: str, *words: str) -> dict[str, Any]:
        """Return the error that a verb prints with --raw."""
        done = self.run(*verb.split(), *words, "--raw")
        found: dict[str, Any] = json.loads(done.stderr.strip().splitlines()[-1])
        assert found["error"] is True, done.stderr
        return found
