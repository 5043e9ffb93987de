"""Every move of a host, lawful and unlawful."""

import pytest

from accounts.models import User
from common.errors import IllegalTransition, StaleRow
from common.transitions import move
from marketplace.hosts.hosts import record_transition
from marketplace.models import Host, HostEvent
from marketplace.states import HOST_MACHINE, HostState
from tests.marketplace.shapes import enrolled

LAWFUL = {
    ("online", "silent"),
    ("online", "frozen"),
    ("online", "retired"),
    ("silent", "online"),
    ("silent", "frozen"),
    ("silent", "retired"),
    ("frozen", "online"),
    ("frozen", "retired"),
}
PAIRS = [(origin, target) for origin in HostState.values for target in HostState.values]
PATHS = {"online": [], "silent": ["silent"], "frozen": ["frozen"], "retired": ["retired"]}


def _host_in(state: str, owner: User) -> Host:
    host = enrolled(owner, 1)
    for step in PATHS[state]:
        move(host, step, machine=HOST_MACHINE, reason="", actor="test")
    return host


@pytest.mark.parametrize(("origin", "target"), PAIRS)
def test_moves(hana: User, origin: str, target: str) -> None:
    host = _host_in(origin, hana)
    generation = host.generation
    if (origin, target) in LAWFUL:
        move(host, target, machine=HOST_MACHINE, record=record_transition, reason="because", actor="test")
        host.refresh_from_db()
        assert (host.state, host.generation) == (target, generation + 1)
        event = HostEvent.objects.filter(host=host).latest("id")
        assert (event.kind, event.detail, event.actor) == (target, "because", "test")
    else:
        with pytest.raises(IllegalTransition):
            move(host, target, machine=HOST_MACHINE, record=record_transition, reason="", actor="test")
        host.refresh_from_db()
        assert (host.state, host.generation) == (origin, generation)


def test_a_stale_row_moves_nothing(hana: User) -> None:
    host = enrolled(hana, 1)
    rival = Host.objects.get(pk=host.pk)
    move(rival, HostState.SILENT, machine=HOST_MACHINE, reason="", actor="test")
    with pytest.raises(StaleRow):
        move(host, HostState.FROZEN, machine=HOST_MACHINE, reason="", actor="test")
    host.refresh_from_db()
    assert host.state == HostState.SILENT
