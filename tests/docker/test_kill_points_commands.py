"""As test_kill_points.py, for what an owner types: `run` as it claims the engine, `adopt` of a copied folder, `uninstall`.

Each is done once in peace, which tells its steps; then it is killed at each of them, and typed again. Each on an engine and
in a network of their own, so that an uninstall may take all that it finds.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from agents.daemon.docker_engine.host_claim import FOLDER_LABEL, claim_name
from agents.daemon.lib.config import load_config
from agents.daemon.lib.state_folder import PLACE_FILE, FolderCopied, read_location
from agents.protocol.messages import DesiredInstance
from tests.agents.daemon.market import Market
from tests.docker.kill_matrix import Doomed, fork_server
from tests.docker.kill_stage import Step
from tests.docker.second_engine import SecondEngine
from tests.docker.test_uninstall import Machine, enrolled, machine, market, order_of, there

pytestmark = pytest.mark.docker
__all__ = ["machine", "market", "there"]  # fixtures
KEPT: Final = b"of the renter"
NOTHING: Final = ("", 0)


class Owner:
    """Who types commands on one machine; `cut` are the steps at which one was really killed."""

    def __init__(self, place: Path, machine: Machine, market: Market) -> None:
        self.place, self.machine, self.market = place, machine, market
        self.cut: list[Step] = []

    def types(self, *words: str, state: Path | None = None, fatal: Step = NOTHING, typed: str = "") -> Doomed:
        """One command until it ends, by itself or at that step; `typed` is what its owner answers."""
        env = {"DOCKER_HOST": self.machine.there.socket}
        run = Doomed(self.place, state or self.machine.state, env, fatal, words=words, typed=typed)
        code = run.code()
        if code is None:
            assert run.steps[-1][1] == fatal[0] != "", "killed there and nowhere else"
            assert Counter(step for _, step in run.steps)[fatal[0]] == fatal[1]
            self.cut.append(fatal)
        return run

    def must(self, *words: str, state: Path | None = None, typed: str = "") -> list[Step]:
        """Done in peace; the steps of the main thread, each with which passing of it: where it can be killed."""
        run = self.types(*words, state=state, typed=typed)
        log = Path(f"{state or self.machine.state}.log")
        assert run.code() == 0, log.read_text()[-2000:]
        return points(run)

    def rents(self) -> DesiredInstance:
        """A box that runs with something on its data disk, its agent ended."""
        enrolled(self.machine, self.market)
        with self.machine.agent():
            order = order_of(self.market)
            self.market.want(order)
            self.market.until_phase(order.id, "running", 1)
            self.data(order).write_bytes(KEPT)
        return order

    def data(self, order: DesiredInstance) -> Path:
        return self.machine.state / "mounts" / order.id / "file"


def points(typed: Doomed) -> list[Step]:
    """Every step of the command itself; of one that comes often the first and the last time."""
    names = [step for _, step in typed.steps]
    total, passes, found = Counter(names), Counter[str](), []
    for kind, step in typed.steps:
        passes[step] += 1
        if kind == "MainThread" and passes[step] in (1, total[step]):
            found.append((step, passes[step]))
    return found


@pytest.fixture(scope="module")
def place(there: SecondEngine) -> Iterator[Path]:
    with fork_server(net=there.name) as found:
        yield found


@pytest.fixture
def owner(place: Path, machine: Machine, market: Market) -> Owner:
    return Owner(place, machine, market)


def live(owner: Owner) -> tuple[str, str]:
    """The one container that there is: its id, and since when it runs."""
    with engine(owner) as client:
        [found] = client.containers(all=True)
        state = client.inspect_container(found["Id"])["State"]
    assert state["Running"]
    return found["Id"], state["StartedAt"]


@contextmanager
def engine(owner: Owner) -> Iterator[Any]:
    client = owner.machine.there.client()
    try:
        yield client
    finally:
        client.close()


def claimed_token(owner: Owner, host_id: str) -> str:
    """Whose the host is by the engine's word; empty for nobody's."""
    with engine(owner) as client:
        found = [item for item in client.volumes()["Volumes"] or [] if item["Name"] == claim_name(host_id)]
    return str(found[0]["Labels"][FOLDER_LABEL]) if found else ""


def is_claimed_by(owner: Owner, state: Path) -> bool:
    try:
        place = read_location(state)
    except FolderCopied:
        return False
    return place is not None and claimed_token(owner, load_config(state).host_id) == place.token


def forget_claim(owner: Owner, state: Path) -> None:
    """As before the first start."""
    (state / PLACE_FILE).unlink(missing_ok=True)
    with engine(owner) as client:
        client.remove_volume(claim_name(load_config(state).host_id), force=True)


def cut_each(owner: Owner, steps: list[Step], kill: Callable[[Step], None]) -> None:
    for step in steps:
        kill(step)
    assert owner.cut == steps, "each point was really cut"


def test_a_start_is_killed_while_it_claims_the_engine(owner: Owner) -> None:
    order = owner.rents()
    before, state = live(owner), owner.machine.state
    forget_claim(owner, state)
    steps = owner.must("run", "--once", "--local-images")
    assert any(step.startswith("POST volumes/create") for step, _ in steps)
    assert any(step.startswith("rename") and "place" in step for step, _ in steps)

    def kill(step: Step) -> None:
        forget_claim(owner, state)
        owner.types("run", "--once", "--local-images", fatal=step)
        assert claimed_token(owner, load_config(state).host_id) == "" or is_claimed_by(owner, state)
        assert live(owner) == before
        owner.must("run", "--once", "--local-images")
        assert is_claimed_by(owner, state) and live(owner) == before
        assert owner.data(order).read_bytes() == KEPT

    cut_each(owner, steps, kill)


def test_an_adoption_is_killed_at_each_step(owner: Owner, tmp_path: Path) -> None:
    """The host is one folder's at every cut, and the copy's in the end; what runs goes on."""
    order = owner.rents()
    before, original, copy = live(owner), owner.machine.state, tmp_path / "copy"

    def copied() -> None:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(original, copy, ignore=shutil.ignore_patterns("mounts", "disks", "systems"))

    def is_one_folders() -> None:
        claimed = claimed_token(owner, load_config(original).host_id)
        assert claimed == "" or is_claimed_by(owner, original) or is_claimed_by(owner, copy)
        assert live(owner) == before
        assert owner.data(order).read_bytes() == KEPT

    copied()
    steps = owner.must("adopt", state=copy)
    assert any(step.startswith("DELETE volumes/") for step, _ in steps)

    def kill(step: Step) -> None:
        copied()
        owner.must("adopt", state=original)
        owner.types("adopt", state=copy, fatal=step)
        is_one_folders()
        owner.must("adopt", state=copy)
        assert is_claimed_by(owner, copy)
        is_one_folders()
        assert owner.types("run", "--once", "--local-images", state=original).code() == 1, "not the host's folder any more"

    cut_each(owner, steps, kill)
    owner.must("adopt", state=original)


def test_an_uninstall_is_killed_at_each_step(owner: Owner) -> None:
    """It can be typed again from wherever it was cut, and leaves nothing."""
    before = owner.machine.looks()
    owner.rents()
    owner.market.desired.clear()
    left = owner.must("uninstall", "--force")
    assert owner.machine.looks() == before
    for kind in (
        "POST containers",
        "DELETE containers",
        "DELETE networks",
        "DELETE volumes",
        "umount",
        "iptables",
        "remove",
    ):
        assert any(step.startswith(kind) for step, _ in left), f"{kind} is not among {left}"
    steps = list(left)
    while left:  # each dies at the step after that of the one before; what such a chain leaves out comes in the next one
        owner.rents()
        owner.market.desired.clear()
        reached = len(left)
        for step in list(left):
            if not owner.machine.state.exists():
                break
            if owner.types("uninstall", "--force", fatal=(step[0], step[1] if step == left[0] else 1)).code() is None:
                left.remove(step)
        if owner.machine.state.exists():
            owner.must("uninstall", "--force")
        assert owner.machine.looks() == before
        assert len(left) < reached, f"it does not come to {left[0]} any more"
    assert {name for name, _ in owner.cut} == {name for name, _ in steps}


def test_a_removal_of_leftovers_is_killed_at_each_step(owner: Owner) -> None:
    """It can be typed again from wherever it was cut; then nothing is left, and nothing is held any more."""
    enrolled(owner.machine, owner.market)
    with owner.machine.agent():
        owner.market.until(lambda report: True)  # what a host has as long as it is one
    before = owner.machine.looks()

    def holds_nothing() -> None:
        message_count = len(owner.market.envelopes)
        with owner.machine.agent():
            owner.market.until(lambda report: len(owner.market.envelopes) > message_count and report.holdings == [])

    def quarantined() -> str:
        """An instance that the market has lost by a restore; its agent ended."""
        market, epoch = owner.market, (owner.market.epoch or 0) + 2
        with owner.machine.agent():
            market.epoch = epoch - 1
            market.until(lambda report: report.epoch == epoch - 1)
            order = order_of(market)
            market.want(order)
            market.until_phase(order.id, "running", 1)
            market.epoch = epoch
            market.forget(order.id)
            market.until(lambda report: [row.run for row in report.holdings] == ["stopped"])
        return order.id

    lost = quarantined()
    left = owner.must("leftovers", "--remove", lost, typed=lost)
    assert owner.machine.looks() == before
    for kind in ("DELETE containers", "DELETE networks", "umount", "remove", "write"):
        assert any(step.startswith(kind) for step, _ in left), f"{kind} is not among {left}"
    steps = list(left)
    while left:  # each dies at the step after that of the one before; what such a chain leaves out comes in the next one
        lost, reached = quarantined(), len(left)
        for step in list(left):
            run = owner.types("leftovers", "--remove", lost, typed=lost, fatal=(step[0], step[1] if step == left[0] else 1))
            if run.code() is None:
                left.remove(step)
        if lost in owner.machine.must("leftovers"):
            owner.must("leftovers", "--remove", lost, typed=lost)
        assert owner.machine.looks() == before
        assert len(left) < reached, f"it does not come to {left[0]} any more"
        holds_nothing()
    assert {name for name, _ in owner.cut} == {name for name, _ in steps}
