"""Epochs: orders of a restored control plane apply only after it has learned what runs on this host."""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from agents.daemon.control_plane.http_client import LinkError
from agents.daemon.engine.interface import Container
from agents.daemon.lib.journal import Entry, Journal
from agents.daemon.reconciler.fencing import FencingResult, filter_stale
from agents.protocol.messages import DesiredInstance, DesiredState, Holding, Report
from agents.protocol.version import SUPPORTED

logger = logging.getLogger(__name__)

MOST_HOLDINGS: Final = 5_000

Own = Mapping[str, Sequence[Container]]


class Epochs:
    """Accepted epoch of the journal, and a newer one of the market that is not agreed to yet.

    Agreeing takes two syncs. The answer to the first names the new epoch, and nothing else of it is applied. The
    next report lists everything here, by the engine's labels and the journal; its answer is applied once, whatever
    fences it names.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._next = 0

    def spoken(self, *, engine_answers: bool) -> int:
        """Return the report's epoch; a newer one only while the engine itself reports what is here."""
        return self._next if self._next and engine_answers else self._journal.epoch

    def holdings(self, own: Own, named: Collection[str], spoken: int) -> list[Holding]:
        entries = self._journal.entries()
        if spoken == self._journal.epoch:
            return [_holding(key, entries.get(key, Entry()), own[key]) for key in sorted(own.keys() - set(named))]
        remembered = sorted(entries.keys() - own.keys(), key=lambda key: -entries[key].written_at)
        answer = [*sorted(own), *remembered][:MOST_HOLDINGS]
        return [_holding(key, entries.get(key, Entry()), own.get(key, ())) for key in answer]

    def filter_answer(self, answer: DesiredState, report: Report, own: Own) -> FencingResult | None:
        """Return which part of the answer to `report` applies; None if its new epoch is not agreed to yet.

        Raises:
            LinkError: The answer is of an older epoch, or of a protocol that this agent does not speak.
        """
        if answer.protocol not in SUPPORTED:
            raise LinkError(f"the control plane chose protocol {answer.protocol}, which this agent does not speak")
        known = self._journal.epoch
        if answer.epoch is None or answer.epoch == known:
            return filter_stale(answer.instances, self._journal.entries())
        if answer.epoch < known:
            raise LinkError(
                f"the market's answer is of epoch {answer.epoch}, older than the accepted {known}: nothing of it is taken. "
                "If the market was restored from a backup, its operator has to begin a new epoch (manage.py begin_epoch)"
            )
        if report.epoch != answer.epoch:
            logger.warning("the market has begun epoch %d: it is told what is here before anything is done", answer.epoch)
            self._next = answer.epoch
            return None
        return self._accept_epoch(answer.epoch, answer.instances, own)

    def _accept_epoch(self, epoch: int, wanted: Sequence[DesiredInstance], own: Own) -> FencingResult:
        """Accept the market's fences, whatever was accepted before; quarantine what it does not name."""
        entries = self._journal.entries()
        verdict = filter_stale(wanted, {key: replace(entry, fence=-1, generation=0) for key, entry in entries.items()})
        unknown = own.keys() - {item.id for item in wanted}
        fenced = {key: _quarantined(entries.get(key, Entry()), own[key]) for key in unknown}
        return replace(verdict, changes={**verdict.changes, **fenced}, epoch=epoch)


def quarantine_orders(entries: Mapping[str, Entry], named: Collection[str]) -> dict[str, DesiredInstance]:
    """Return desired states that keep quarantined instances stopped."""
    return {
        key: DesiredInstance(id=key, generation=entry.generation, fence=entry.fence, run="stopped", image="")
        for key, entry in entries.items()
        if entry.quarantined and key not in named
    }


def _holding(instance: str, entry: Entry, own: Sequence[Container]) -> Holding:
    alive = any(item.status in ("running", "paused") for item in own)
    return Holding(
        id=instance,
        generation=max([entry.generation, *(item.generation for item in own)]),
        fence=max([entry.fence, *(item.fence for item in own)]),
        run=entry.run if entry.fence else "running" if alive else "stopped",
        gpu_uuids=sorted({uuid for item in own for uuid in item.gpu_uuids}),
    )


def _quarantined(entry: Entry, own: Sequence[Container]) -> Entry:
    seen = _holding("", entry, own)
    return replace(entry, generation=seen.generation, fence=seen.fence, run="stopped", quarantined=True)
