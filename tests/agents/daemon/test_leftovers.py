"""`berth-agent leftovers` on a simulated host; on a real engine, see tests/docker/test_uninstall.py."""

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agents.daemon.__main__ import main
from agents.daemon.lib.config import AgentConfig
from agents.daemon.lib.journal import read_entries
from agents.protocol.messages import DesiredInstance
from tests.agents.daemon.conftest import RunningAgent
from tests.agents.daemon.market import Market

OTHER = "0190f0f0f0f07000800000000000beef"


@pytest.fixture
def quarantined(market: Market, start_agent: Callable[[], RunningAgent], wanted: DesiredInstance) -> DesiredInstance:
    """Two instances ran here; the market was restored, and knows the other one only. The agent has been stopped."""
    market.epoch = 1
    agent = start_agent()
    known = replace(wanted, id=OTHER, gpu_uuids=[], ports=[])
    market.want(wanted, known)
    market.until_phase(wanted.id, "running", 1)
    market.until_phase(OTHER, "running", 1)
    market.epoch = 2
    market.forget(wanted.id)
    market.until(lambda report: report.epoch == 2 and [row.run for row in report.holdings] == ["stopped"])
    agent.stop()
    return wanted


def say(state: Path, monkeypatch: pytest.MonkeyPatch, *words: str, typed: str = "") -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    return main(["leftovers", "--state-dir", str(state), *words])


def test_they_are_listed_and_deleted_by_their_id_alone(
    market: Market,
    state: Path,
    quarantined: DesiredInstance,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = quarantined.id
    assert say(state, monkeypatch) == 0
    listed = capsys.readouterr().out
    assert listed.startswith(f"{own}\n  container ") and OTHER not in listed
    for remove, typed, why in (
        (own, "", "nothing was deleted"),
        (own, "yes", "nothing was deleted"),
        (OTHER, OTHER, "not in"),
    ):
        assert say(state, monkeypatch, "--remove", remove, typed=typed) == 1
        assert why in capsys.readouterr().err
    market.desired[own] = quarantined
    assert say(state, monkeypatch, "--remove", own, typed=own) == 1
    assert "The market knows" in capsys.readouterr().err
    del market.desired[own]
    market.epoch = 3
    assert say(state, monkeypatch, "--remove", own, typed=own) == 1
    assert "new epoch" in capsys.readouterr().err
    market.epoch = 2
    assert read_entries(state / "journal")[own].quarantined, "a refusal changes nothing"

    assert say(state, monkeypatch, "--remove", f"inst_{own}", typed=f"{own}\n") == 0
    assert "deleted all" in capsys.readouterr().out
    entry = read_entries(state / "journal")[own]
    assert (entry.run, entry.quarantined) == ("gone", False)
    assert say(state, monkeypatch) == 0
    assert "No instance is in quarantine" in capsys.readouterr().out


def test_what_is_no_id_is_refused(state: Path, config: AgentConfig) -> None:
    for text in ("../../etc", "inst_", "0" * 31, "*"):
        with pytest.raises(SystemExit):
            main(["leftovers", "--state-dir", str(state), "--remove", text])
