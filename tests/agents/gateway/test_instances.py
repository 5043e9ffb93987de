"""A rented instance through the wire: told to its host, proven by its host, out of reach of every other host."""

from collections.abc import Callable
from datetime import timedelta

import pytest
import time_machine
from django.test import Client

from accounts.models import User
from accounts.tokens.services import issue_token
from agents.gateway.models import RefusedMessage
from agents.protocol.codec import encode
from agents.protocol.messages import GpuSample, InstanceSample, ObservedInstance
from agents.protocol.telemetry_messages import GpuEvent, SecondTrace
from billing.ledger.wallets import open_wallet
from billing.models import Meter
from common import clock
from instances.lifecycle.start import restart_instance
from instances.models import Alert, Instance, InstanceTrace
from instances.models import InstanceSample as StoredSample
from instances.states import InstanceState
from marketplace.models import ReliabilityEvent

from .conftest import PRICE, SYNC, Agent, code_of, post, report

pytestmark = pytest.mark.django_db


def observed(instance: Instance, phase: str = "running", **changes: object) -> ObservedInstance:
    return ObservedInstance(
        **{"id": instance.pk.hex, "generation": 1, "phase": phase, "gpu_uuids": instance.gpu_uuids, **changes}  # type: ignore[arg-type]  # a test names any field
    )


def test_the_host_is_told_what_to_run(agent: Agent, rent: Callable[[Agent], Instance]) -> None:
    instance = rent(agent)
    (wanted,) = agent.sync().instances
    assert (wanted.id, wanted.run, wanted.generation) == (instance.pk.hex, "running", 1)
    assert wanted.gpu_uuids == instance.gpu_uuids
    assert wanted.image == instance.image.reference
    assert 22 in [port for port, _ in wanted.ports]


def test_a_report_makes_it_run_and_stores_its_use(agent: Agent, rent: Callable[[Agent], Instance]) -> None:
    instance = rent(agent)
    agent.sync(report(instances=[observed(instance)]))
    instance.refresh_from_db()
    assert instance.state == InstanceState.RUNNING
    use = InstanceSample(50.0, 900, 10, 1, 2, [GpuSample(instance.gpu_uuids[0], 80, 4_000)])
    agent.sync(report(instances=[observed(instance, sample=use)]))
    stored = StoredSample.objects.get()
    assert (stored.cpu_pct, stored.gpu_util_pct, stored.vram_used_mb) == (50.0, 80.0, 4_000)


def test_seconds_and_errors_of_gpus_reach_the_renter(agent: Agent, rent: Callable[[Agent], Instance]) -> None:
    """Errors of GPUs that this host does not have, or that are no errors, reach nobody."""
    instance = rent(agent)
    agent.sync(report(instances=[observed(instance)]))
    gpu = instance.gpu_uuids[0]
    trace = SecondTrace([60, 100], [1, 2], [300, 310], [70, 71], [50, 51], [900, 901])
    use = InstanceSample(50.0, 900, 10, 1, 2, [GpuSample(gpu, 80, 4_000, 71, 310)], oom_kills=2, trace=trace)
    events = [GpuEvent(gpu, 48), GpuEvent("GPU-of-others", 48), GpuEvent(gpu, -1), GpuEvent(gpu, 31, -5)]
    agent.sync(report(instances=[observed(instance, sample=use)], gpu_events=events))
    stored = StoredSample.objects.get()
    assert (stored.gpu_util_pct, stored.power_w, stored.temperature_c, stored.oom_kills) == (80.0, 310, 71, 2)
    assert InstanceTrace.objects.get().values["power"] == [300, 310]
    alert = Alert.objects.get()
    assert (alert.instance_id, alert.fault_of, alert.facts["xid"]) == (instance.pk, "host", 48)
    wrong = InstanceSample(50.0, 900, 10, 1, 2, [], trace=SecondTrace([-1], [0], [0], [0], [0], [0]))
    agent.sync(report(instances=[observed(instance, sample=wrong)]))
    assert (StoredSample.objects.count(), InstanceTrace.objects.count()) == (2, 1)  # the seconds alone are left out


@pytest.mark.parametrize("change", [{"ram_mb": -1}, {"ram_mb": 2**40}, {"rx_bytes": -1}, {"cpu_pct": -1.0}])
def test_impossible_use_is_left_out_and_the_proof_counts(
    agent: Agent, rent: Callable[[Agent], Instance], change: dict[str, float]
) -> None:
    instance = rent(agent)
    use = InstanceSample(**{"cpu_pct": 1.0, "ram_mb": 1, "disk_mb": 1, "rx_bytes": 1, "tx_bytes": 1, **change})  # type: ignore[arg-type]  # as above
    agent.sync(report(instances=[observed(instance, sample=use)]))
    instance.refresh_from_db()
    assert instance.state == InstanceState.RUNNING
    assert not StoredSample.objects.exists()


def test_no_host_can_report_on_another_s_instance(enrolled: Callable[[], Agent], rent: Callable[[Agent], Instance]) -> None:
    """Fault 89: neither make it run (and be charged), nor end it, nor let its GPUs go."""
    owner, thief = enrolled(), enrolled()
    instance = rent(owner)
    before = Instance.objects.values().get()
    for phase in ("running", "stopped", "failed"):
        thief.sync(report(instances=[observed(instance, phase)]))
    thief.sync(report(absent=[instance.pk.hex]))
    assert Instance.objects.values().get() == before
    refused = RefusedMessage.objects.values_list("claimed_host", "reason", "detail")
    assert list(refused) == [(thief.host_id, "foreign_instance", instance.pk.hex)] * 4
    assert thief.sync().instances == []
    assert len(owner.sync().instances) == 1


def test_a_replayed_report_proves_nothing(agent: Agent, rent: Callable[[Agent], Instance]) -> None:
    instance = rent(agent)
    running = encode(report(instances=[observed(instance)]))
    headers = agent.headers(running)
    assert post(agent.client, SYNC, running, headers).status_code == 200
    proven = instance_proof(instance)
    with time_machine.travel(clock.now() + timedelta(seconds=30), tick=False):
        assert code_of(post(agent.client, SYNC, running, headers)) == (409, "replayed")
    assert instance_proof(instance) == proven


def instance_proof(instance: Instance) -> object:
    return Meter.objects.values_list("proven_until", flat=True).get(source_id=instance.pk)


def api_failure(renter: User, instance: Instance) -> dict[str, str]:
    _, token = issue_token(user=renter, name="test", scopes=["instances:read"])
    answer = Client(headers={"authorization": f"Bearer {token}"}).get(f"/api/v1/instances/inst_{instance.pk.hex}")
    found: dict[str, str] = answer.json()["failure"]
    return found


def run_half_an_hour(agent: Agent, instance: Instance, clockwork: time_machine.Traveller) -> int:
    """What the renter has left after it."""
    agent.sync(report(instances=[observed(instance)]))
    for _ in range(30):
        clockwork.shift(timedelta(minutes=1))
        agent.sync(report(instances=[observed(instance)]))
    instance.refresh_from_db()
    assert instance.state == InstanceState.RUNNING
    return 100 * PRICE - PRICE // 2


def test_an_end_that_the_host_brought_about_is_given_back_and_marked(
    agent: Agent, alice: User, rent: Callable[[Agent], Instance]
) -> None:
    with time_machine.travel(clock.now(), tick=False) as clockwork:
        instance = rent(agent)
        run_half_an_hour(agent, instance, clockwork)
        agent.sync(report(instances=[observed(instance, "exited", failure_code="killed", detail="Ended on the host.")]))
        assert api_failure(alice, instance)["fault_of"] == "host"
        assert open_wallet(owner_id=alice.pk).balance_micros == 100 * PRICE
        assert ReliabilityEvent.objects.filter(host=agent.host, kind="host_fault", detail="killed").count() == 1


def test_sshd_moved_away_and_restarted_is_nobodys_fault(
    agent: Agent, alice: User, rent: Callable[[Agent], Instance]
) -> None:
    """An older agent still calls silence a failure."""
    with time_machine.travel(clock.now(), tick=False) as clockwork:
        instance = rent(agent)
        left = run_half_an_hour(agent, instance, clockwork)
        restart_instance(renter=alice, instance_id=instance.pk)
        agent.sync(report(instances=[observed(instance, "testing", generation=2)]))
        agent.sync(report(instances=[observed(instance, "failed", generation=2, failure_code="ssh_silent")]))
        assert api_failure(alice, instance)["fault_of"] == "nobody"
        assert open_wallet(owner_id=alice.pk).balance_micros == left
        assert not ReliabilityEvent.objects.exclude(kind="started").exists()
