"""The gate: nothing older than what was accepted gets through."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.daemon.lib.journal import Entry
from agents.daemon.reconciler.fencing import filter_stale
from agents.protocol.messages import DesiredInstance

ID = "0" * 31 + "1"
KNOWN = {ID: Entry(fence=5, generation=3)}


def wanted(**changes: Any) -> DesiredInstance:
    return replace(DesiredInstance(ID, 3, 5, "running", "i"), **changes)


def test_the_same_again_changes_nothing() -> None:
    verdict = filter_stale([wanted()], KNOWN)
    assert (verdict.accepted, verdict.changes, verdict.refused) == ([wanted()], {}, [])


@pytest.mark.parametrize("change", [{"fence": 6}, {"generation": 4}, {"run": "stopped"}, {"run": "gone"}])
def test_news_are_written_down_first(change: dict[str, Any]) -> None:
    verdict = filter_stale([wanted(**change)], KNOWN)
    assert verdict.accepted == [wanted(**change)]
    assert verdict.changes[ID] == replace(KNOWN[ID], **change)


@pytest.mark.parametrize(
    "change", [{"fence": 4}, {"generation": 2}, {"fence": 4, "generation": 9}, {"fence": 9, "generation": 2}]
)
def test_fault_019_what_is_older_is_refused(change: dict[str, Any]) -> None:
    verdict = filter_stale([wanted(**change)], KNOWN)
    assert not verdict.accepted and not verdict.changes
    assert "older" in verdict.refused[0]


def test_who_is_gone_cannot_come_back_without_another_lease() -> None:
    known = {ID: replace(KNOWN[ID], run="gone", accepted=3)}
    assert filter_stale([wanted(generation=9)], known).refused
    assert filter_stale([wanted(run="gone")], known).accepted


def test_who_was_moved_away_comes_back_as_if_for_the_first_time() -> None:
    known = {ID: replace(KNOWN[ID], run="gone", accepted=3, failed=2)}
    verdict = filter_stale([wanted(generation=9, fence=9)], known)
    assert verdict.accepted and verdict.changes[ID] == Entry(fence=9, generation=9)


@pytest.mark.parametrize("name", ["../../etc", "", "A" * 32, "0" * 31, "0" * 33, "0" * 31 + "\n"])
def test_names_that_are_no_ids_never_reach_a_path(name: str) -> None:
    assert filter_stale([wanted(id=name)], {}).refused


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5))))
def test_accepted_numbers_only_grow(history: list[tuple[int, int]]) -> None:
    entries: dict[str, Entry] = {}
    for fence, generation in history:
        before = entries.get(ID, Entry())
        entries.update(filter_stale([wanted(fence=fence, generation=generation)], entries).changes)
        after = entries.get(ID, Entry())
        assert (after.fence, after.generation) >= (before.fence, before.generation)
        assert after.fence >= before.fence and after.generation >= before.generation
