"""Runs the machine of random lives, and shows that it finds what is broken when a protection is taken away (D10).

HYPOTHESIS_PROFILE=ci makes it 48 examples of 50 steps, in parts that xdist's workers share; each run draws others. `long`
makes it 500, for a change of what is leased, metered or charged.
"""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from accounts.models import User
from instances.core.observations import ObservedRow
from instances.host_reports import reconcile
from instances.lifecycle import stop
from instances.models import Instance
from instances.release import services
from instances.states import InstanceState
from marketplace.leasing.lease import release_leases
from tests.billing.money import UNIT, grant
from tests.instances.fake_host import FakeHost
from tests.instances.fixtures import Clock
from tests.instances.life_machine import LifeMachine
from tests.instances.modes import sell
from tests.profiles import PROFILE

PARTS = 4
PROFILES: dict[str, dict[str, int]] = {
    "default": {"max_examples": 60 // PARTS, "stateful_step_count": 30},
    "ci": {"max_examples": 48 // PARTS, "stateful_step_count": 50},
    "long": {"max_examples": 500 // PARTS, "stateful_step_count": 50},
}
BOUNDS_OF_A_RUN = PROFILES[PROFILE]
BOUNDS: dict[str, Any] = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
LUCKY = seed(3)  # finds each sabotage within a dozen lives; another seed may need hundreds

Patch = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture
def machine(hours: Clock, alice: User, hana: User, image: object) -> type[LifeMachine]:
    grant(alice, 200 * UNIT)
    hosts = [FakeHost(hana, gpus=3, ports=12), FakeHost(hana, gpus=2, price="5.123457")]
    for host in hosts:
        sell(host, spot_floor_micros=UNIT, disk_micros_gb_day=48_000)

    class Machine(LifeMachine):
        @staticmethod
        def world() -> tuple[User, list[FakeHost]]:
            return alice, hosts

    return Machine


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("part", range(PARTS))
def test_random_lives_break_no_invariant(machine: type[LifeMachine], part: int) -> None:
    bounds: dict[str, Any] = {**BOUNDS_OF_A_RUN, **BOUNDS}
    run_state_machine_as_test(machine, settings=settings(**bounds))


def _free_gpus_without_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    become_failed = reconcile._become_failed

    def hasty(instance: Instance, row: ObservedRow, at: Any) -> None:
        become_failed(instance, row, at)
        release_leases(holder=instance.pk, reason="hasty")

    moves = dict(reconcile._MOVES)
    moves[InstanceState.FAILED] = hasty
    monkeypatch.setattr(reconcile, "_MOVES", moves)


def _forget_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (stop, services):
        monkeypatch.setattr(module, "cap_use", lambda instance: None)


def _forget_the_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcile, "close_use_of", lambda instance, host_failed=False: None)


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("sabotage", [_free_gpus_without_proof, _forget_the_cap, _forget_the_hold])
def test_the_machine_finds_a_protection_that_is_missing(
    machine: type[LifeMachine], monkeypatch: pytest.MonkeyPatch, sabotage: Patch
) -> None:
    sabotage(monkeypatch)
    bounds = {**BOUNDS, "phases": [Phase.generate], "report_multiple_bugs": False}
    with pytest.raises(AssertionError):
        run_state_machine_as_test(LUCKY(machine), settings=settings(max_examples=900, stateful_step_count=40, **bounds))
