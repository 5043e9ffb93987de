"""One instance beside its document: what was found to differ, and the calls that change it."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from berth.cli.declared.files import Document
from berth.cli.declared.market import Market
from berth.cli.declared.plans import Change, Cost, Step

if TYPE_CHECKING:
    from berth import models


@dataclass
class Comparison:
    """What was found so far about one instance."""

    market: Market
    document: Document
    live: "models.InstanceOut"
    changes: list[Change] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    replaced: list[Change] = field(default_factory=list)
    blocked: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    loses: str = ""
    cost: Cost = field(default_factory=Cost)
    disk_daily: str = ""  # of the data disk, in the size that it is going to have

    @property
    def spec(self) -> dict[str, Any]:
        return self.document.spec

    def differs(self, name: str, live: Any) -> bool:
        return name in self.spec and self.spec[name] != live
