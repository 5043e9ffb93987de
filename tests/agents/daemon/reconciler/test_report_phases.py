"""What is reported of an instance, for everything that can be seen of it."""

from dataclasses import replace

import pytest

from agents.daemon.engine.interface import Container
from agents.daemon.lib.journal import Entry
from agents.daemon.reconciler.jobs import JobPhase
from agents.daemon.reconciler.report_phases import CAUSE_PENDING, RESTARTED, UNREACHABLE, VANISHED, row_of
from agents.protocol.progress_messages import Said, say

ID = "a" * 32
RUNNING = Container("c", ID, 2, "running", "s", ("GPU-1",), "t1", run_seconds=3.0)
ENDED = replace(RUNNING, status="exited", run_seconds=0.0, exit_code=3)
PASSED = Entry(generation=2, accepted=2, accepted_run="t1")
ASKED_ENGINE = replace(PASSED, ended_run="t1")  # the engine was asked who ended it


@pytest.mark.parametrize(
    ("own", "entry", "phase", "generation", "code"),
    [
        ([], Entry(generation=1), "creating", 1, ""),
        ([replace(RUNNING, status="created")], Entry(generation=2), "creating", 2, ""),
        ([RUNNING], Entry(generation=2), "testing", 2, ""),
        ([RUNNING], PASSED, "running", 2, ""),
        ([replace(RUNNING, detached=True)], PASSED, "unknown", 2, UNREACHABLE),  # nobody reaches it, so nobody pays for it
        ([replace(RUNNING, cut="The bridge is gone.")], PASSED, "unknown", 2, UNREACHABLE),
        ([replace(RUNNING, cut="The bridge is gone.")], replace(PASSED, run="stopped"), "stopping", 2, ""),
        ([RUNNING], Entry(generation=3, accepted=2), "running", 2, ""),  # the restart is yet to come
        ([RUNNING, replace(ENDED, id="d", generation=1)], PASSED, "running", 2, ""),
        ([ENDED], PASSED, "unknown", 2, ""),  # until the engine has said who ended it
        ([ENDED], replace(PASSED, ended_run="t0", ended_by="host"), "unknown", 2, ""),
        ([ENDED], ASKED_ENGINE, "exited", 2, "exited"),
        ([replace(ENDED, exit_code=137)], ASKED_ENGINE, "exited", 2, "exited"),
        ([replace(ENDED, exit_code=137)], replace(ASKED_ENGINE, ended_by="host"), "exited", 2, "killed"),
        ([replace(ENDED, exit_code=0)], replace(ASKED_ENGINE, ended_by="engine"), "exited", 2, "engine_restarted"),
        ([replace(ENDED, out_of_memory=True)], ASKED_ENGINE, "exited", 2, "out_of_memory"),
        ([replace(ENDED, out_of_memory=True)], replace(ASKED_ENGINE, ended_by="host"), "exited", 2, "killed"),
        ([replace(RUNNING, started_at="t2")], PASSED, "exited", 2, "killed"),  # ended and started again by someone else
        ([replace(RUNNING, started_at="t2")], replace(PASSED, accepted_run=""), "running", 2, ""),  # an older journal
        ([ENDED], Entry(generation=2, starting=2, started_from="t1"), "creating", 2, ""),
        ([ENDED], Entry(generation=2, starting=2, started_from="t0", ended_run="t1"), "exited", 2, "exited"),
        ([], PASSED, "exited", 2, "removed"),
        ([replace(ENDED, before_boot=True)], PASSED, "exited", 2, "host_restarted"),
        ([replace(ENDED, before_boot=True, out_of_memory=True)], PASSED, "exited", 2, "host_restarted"),
        ([replace(ENDED, before_boot=True)], Entry(generation=2, starting=2, started_from="t1"), "creating", 2, ""),
        ([replace(RUNNING, status="paused", paused=True)], PASSED, "unknown", 2, "paused"),
        ([replace(RUNNING, paused=True)], PASSED, "unknown", 2, "paused"),  # it was, and is to be told once
        ([replace(RUNNING, paused=True)], replace(PASSED, run="stopped"), "stopping", 2, ""),
        ([replace(RUNNING, status="paused", saving=True)], PASSED, "unknown", 2, ""),  # by the agent's own order
        ([replace(RUNNING, reduced="CPU")], PASSED, "unknown", 2, "throttled"),
        ([replace(RUNNING, started_at="t2", paused=True)], PASSED, "exited", 2, "killed"),
        ([ENDED], replace(PASSED, run="stopped"), "stopped", 2, ""),
        ([], replace(PASSED, run="stopped"), "stopped", 2, ""),
        ([RUNNING], replace(PASSED, run="stopped"), "stopping", 2, ""),
        ([ENDED], Entry(generation=3, run="stopped", accepted=2), "stopped", 3, ""),
        ([ENDED], replace(PASSED, run="gone"), "stopping", 2, ""),
        ([], replace(PASSED, run="gone"), "stopping", 2, ""),
        ([ENDED], Entry(generation=2, failed=2, failure_code="ssh_silent"), "failed", 2, "ssh_silent"),
        ([ENDED], Entry(generation=3, failed=2, accepted=2, failure_code="ssh_silent"), "exited", 2, "exited"),
        ([ENDED], Entry(generation=2, failed=2, run="stopped"), "stopped", 2, ""),
    ],
)
def test_phases(own: list[Container], entry: Entry, phase: str, generation: int, code: str) -> None:
    row = row_of(ID, entry, own)
    assert (row.phase, row.generation, row.failure_code) == (phase, generation, code)


@pytest.mark.parametrize(
    ("code", "about", "said"),
    [
        ("port_taken", "40022", say("port_taken", port=40_022)),
        ("volume_missing", ID, say("volume_missing", volume=ID, why="It is gone.")),
        ("volume_missing", "", None),
        ("ssh_silent", "", None),
    ],
)
def test_what_a_failure_is_about_is_said_as_data(code: str, about: str, said: Said | None) -> None:
    entry = Entry(generation=2, failed=2, failure_code=code, failure_detail="It is gone.", failure_about=about)
    row = row_of(ID, entry, [])
    assert (row.failure_code, row.detail, row.said) == (code, "It is gone.", said)
    assert row_of(ID, replace(entry, failed=1), []).said is None, "of an earlier generation"


def test_what_is_being_done_comes_first() -> None:
    row = row_of(ID, Entry(generation=3, accepted=2), [RUNNING], busy=JobPhase("pulling", say("copying")))
    assert (row.phase, row.generation, row.detail, row.failure_code) == ("pulling", 3, "Copying.", "")
    assert row.said == say("copying")


def test_a_running_row_has_all_there_is_to_say() -> None:
    row = row_of(ID, PASSED, [RUNNING])
    assert (row.container, row.gpu_uuids, row.run_seconds) == ("c", ["GPU-1"], 3.0)


def test_a_run_that_has_ended_tells_how_long_it_was() -> None:
    ran = replace(ENDED, run_seconds=17.5)
    assert row_of(ID, ASKED_ENGINE, [ran]).run_seconds == 17.5
    assert row_of(ID, replace(PASSED, run="stopped"), [ran]).run_seconds == 0.0


def test_reasons_are_sentences() -> None:
    assert "code 3" in row_of(ID, ASKED_ENGINE, [ENDED]).detail
    assert row_of(ID, PASSED, [ENDED]).detail == CAUSE_PENDING
    assert row_of(ID, PASSED, []).detail == VANISHED
    assert row_of(ID, PASSED, [replace(ENDED, before_boot=True)]).detail == RESTARTED
