"""What one seeded fault is."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Fault:
    """A mistake that somebody could make in one place, and the tests that must fail on it.

    `old` occurs once in the file at `path`; `tests` are what pytest is given: files, or single tests of them.
    """

    name: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]

    def applied_to(self, text: str) -> str:
        """Return the text with the fault in it.

        Raises:
            LookupError: `old` does not occur exactly once.
        """
        if text.count(self.old) != 1:
            raise LookupError(f"{self.name}: {self.path} has {text.count(self.old)} times what is to be replaced.")
        return text.replace(self.old, self.new)
