"""Plans as data: what differs, which calls would change it, and what it would cost; as text and as JSON."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

from berth.cli.declared.files import Document
from berth.cli.declared.nodes import Variable

SIGNS: Final = {"create": "+", "change": "~", "replace": "!", "blocked": "x", "delete": "-", "none": "="}
_SHOWN_CHARS: Final = 60
_MICRO: Final = Decimal("0.000001")


@dataclass(frozen=True)
class Change:
    """One field that differs: as it is, and as the file has it."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Step:
    """One call of the API. `sets`: the fields of a new instance that it sets, once that is rented."""

    call: str
    act: Callable[[], object] = field(repr=False, compare=False)
    sets: Sequence[str] = ()


@dataclass(frozen=True)
class Cost:
    """What a step costs, as the market said; empty: nothing of that kind."""

    hourly: str = ""
    due_now: str = ""
    daily: str = ""

    def __str__(self) -> str:
        parts = [(self.hourly, "per hour in total"), (self.due_now, "held now"), (self.daily, "per day")]
        return ", ".join(f"{amount} {unit}" for amount, unit in parts if amount)

    def exceeds(self, agreed: "Cost") -> bool:
        """Return whether one of its amounts is higher than the agreed one."""
        pairs = ((self.hourly, agreed.hourly), (self.due_now, agreed.due_now), (self.daily, agreed.daily))
        return any(Decimal(amount or 0) > Decimal(before or 0) for amount, before in pairs)


@dataclass(frozen=True)
class Entry:
    """What becomes of one document.

    `loses`: which data is lost, so that its name has to be typed. `offer`: what would be rented.
    """

    document: Document
    action: str
    id: str = ""
    changes: Sequence[Change] = ()
    steps: Sequence[Step] = field(default=(), repr=False)
    cost: Cost = Cost()
    loses: str = ""
    notes: Sequence[str] = ()
    offer: str = ""

    @property
    def pending(self) -> bool:
        return self.action != "none"

    @property
    def same(self) -> tuple[object, ...]:
        """Return what two plans have to share for one question to cover both, beside the price and the offer."""
        return (self.document.title, self.action, self.id, tuple(map(str, self.changes)), self.loses)

    def dearer_than(self, agreed: "Entry") -> bool:
        """Return whether it costs more than was agreed, or rents another offer."""
        return self.cost.exceeds(agreed.cost) or self.offer not in ("", agreed.offer)

    def as_data(self) -> dict[str, Any]:
        return {
            "kind": self.document.kind,
            "name": self.document.name,
            "id": self.id or None,
            "action": self.action,
            "calls": [each.call for each in self.steps],
            "changes": [{"field": each.field, "from": plain(each.before), "to": plain(each.after)} for each in self.changes],
            "hourly_rate": self.cost.hourly or None,
            "due_now": self.cost.due_now or None,
            "daily_rate": self.cost.daily or None,
            "loses": self.loses or None,
            "notes": list(self.notes),
        }

    def lines(self) -> Iterable[str]:
        summary = {"none": "nothing to do", "blocked": "can't be done"}.get(self.action, self.action)
        calls = f" ({', '.join(each.call for each in self.steps)})" if self.steps and self.action == "change" else ""
        price = f": {self.cost}" if str(self.cost) else ""
        yield f"{SIGNS[self.action]} {self.document.title}: {summary}{calls}{price}"
        for each in self.changes:
            yield f"    {each.field}: {_short(each.before)} -> {_short(each.after)}"
        if self.loses:
            yield f"    This deletes {self.loses}."
        for note in self.notes:
            yield f"    {note}"


def in_all(hourly: str, disk_daily: str) -> str:
    """Return what GPUs and data disk cost an hour together; the disk is rounded half up, as in a quote."""
    disk = (Decimal(disk_daily) / 24).quantize(_MICRO, ROUND_HALF_UP)
    whole, _, places = f"{Decimal(hourly) + disk:.6f}".partition(".")
    return f"{whole}.{places.rstrip('0').ljust(2, '0')}"


def plain(value: Any) -> Any:
    """Return a value as JSON has it; of a reference its text, never what it stands for."""
    if isinstance(value, Variable):
        return value.text
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def totals(entries: Sequence[Entry]) -> list[str]:
    """Return what the plan comes to, in a line or two."""
    counts = {name: sum(each.action == name for each in entries) for name in SIGNS}
    summary = ", ".join(f"{count} to {name}" for name, count in counts.items() if count and name not in ("none", "blocked"))
    lines = [f"{summary or 'Nothing to do'}." + (f" {counts['blocked']} can't be done." if counts["blocked"] else "")]
    for unit, amounts in (
        ("an hour", [each.cost.hourly for each in entries]),
        ("a day for volumes", [each.cost.daily for each in entries]),
    ):
        total = sum((Decimal(each) for each in amounts if each), Decimal(0))
        if total:
            lines.append(f"What it would rent, enlarge or move costs {total} {unit}.")
    return lines


def _short(value: Any) -> str:
    if value is None or value in ("", [], {}):
        return "(none)"
    found = plain(value)
    text = ", ".join(map(str, found)) if isinstance(found, list) else str(found)
    text = text.replace("\n", "\\n")
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"
