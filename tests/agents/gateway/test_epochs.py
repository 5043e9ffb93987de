"""The market goes on from a backup: what its hosts tell, what it takes over, and what it keeps from being rented out.

A report here says what the agent of a host would say whose market was restored: it knows more than the database.
"""

from collections.abc import Callable
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from agents.protocol.messages import DesiredState, Holding, Report
from common.db.transactions import use_case
from instances.epochs.services import FENCE_JUMP, begin_epoch
from instances.models import Instance
from instances.states import Desired, FaultOf, InstanceState
from marketplace.errors import OfferClosed
from marketplace.hosts.epochs import AFTER_BACKUP, close_agreement
from marketplace.leasing.lease import check_open
from marketplace.models import Epoch, Gpu, Host, HostEvent, Incident, Lease, Offer, ReliabilityEvent

from .conftest import Agent, report
from .test_instances import observed

pytestmark = pytest.mark.django_db

Rent = Callable[[Agent], Instance]


@pytest.fixture
def running(agent: Agent, rent: Rent) -> Instance:
    """Of two GPUs one is leased; a new epoch has begun since."""
    instance = rent(agent)
    agent.sync(report(instances=[observed(instance)]))
    begin_epoch(reason="a test")
    instance.refresh_from_db()
    return instance


def holding(instance: Instance, **changes: object) -> Holding:
    same = {"id": instance.pk.hex, "generation": 1, "fence": 1, "run": "running", "gpu_uuids": instance.gpu_uuids}
    return Holding(**{**same, **changes})  # type: ignore[arg-type]  # a test names any field


def agree(agent: Agent, *holdings: Holding, **more: object) -> DesiredState:
    """Both exchanges: the agent is told of the epoch, then says what it holds."""
    answer = agent.sync(report(epoch=0))
    return agent.sync(report(**{"epoch": answer.epoch, "holdings": list(holdings), **more}))


def free(agent: Agent) -> int:
    return Offer.objects.get(host=agent.host).gpu_free


def test_fault_082_no_gpu_of_a_host_is_sold_before_it_has_told_what_it_holds(agent: Agent, running: Instance) -> None:
    assert free(agent) == 0
    host, offer = Host.objects.get(pk=agent.host), Offer.objects.get(host=agent.host)
    with pytest.raises(OfferClosed, match="restore from a backup"):
        check_open(host, offer)
    answer = agent.sync(report(epoch=0, instances=[observed(running, "stopped")]))
    assert answer.epoch == Epoch.objects.get().number
    running.refresh_from_db()
    assert (running.state, free(agent)) == (InstanceState.RUNNING, 0), "a report of an older epoch counts for nothing"
    state = agree(agent, holding(running), instances=[observed(running)])
    assert free(agent) == 1
    (wanted,) = state.instances
    assert (wanted.fence, wanted.generation, wanted.run) == (1 + FENCE_JUMP, 1, "running")
    assert HostEvent.objects.filter(host=host, kind="epoch_agreed").count() == 1


def test_fault_082_higher_generations_are_taken_over_without_a_restart(agent: Agent, running: Instance) -> None:
    seen = observed(running, generation=4)
    state = agree(agent, holding(running, generation=4, fence=3), instances=[seen])
    assert [(item.generation, item.run) for item in state.instances] == [(4, "running")]
    running.refresh_from_db()
    assert (running.state, running.run_generation) == (InstanceState.RUNNING, 4)
    assert not Incident.objects.filter(kind="strange_report").exists()
    assert "generation 4 is taken over" in Epoch.objects.get().findings[0]


def test_a_second_restore_of_the_same_backup_overtakes_its_fences(agent: Agent, running: Instance) -> None:
    agree(agent, holding(running, fence=1 + FENCE_JUMP))
    running.refresh_from_db()
    assert running.fence == 2 + FENCE_JUMP


def test_fault_082_what_runs_on_gpus_of_no_lease_is_started_again_on_its_own(agent: Agent, running: Instance) -> None:
    other = Gpu.objects.filter(host=agent.host).exclude(uuid__in=running.gpu_uuids).get()
    state = agree(agent, holding(running, generation=2, fence=2, gpu_uuids=[other.uuid]))
    assert [(item.generation, item.gpu_uuids) for item in state.instances] == [(3, running.gpu_uuids)]
    assert free(agent) == 0, "the GPU that it runs on is not sold meanwhile"
    agent.sync(report(epoch=state.epoch, instances=[observed(running, generation=3)]))
    assert free(agent) == 1


def test_fault_083_what_was_stopped_after_the_backup_is_stopped_again(agent: Agent, running: Instance) -> None:
    state = agree(agent, holding(running, run="stopped"), instances=[observed(running, "stopped")])
    running.refresh_from_db()
    assert (running.state, running.failure_code) == (InstanceState.STOPPED, "")
    assert [item.run for item in state.instances] == ["stopped"]
    assert not Lease.objects.filter(released_at=None).exists()


def test_fault_083_what_was_released_after_the_backup_fails_by_nobodys_fault(agent: Agent, running: Instance) -> None:
    agree(agent, holding(running, run="gone", gpu_uuids=[]))
    running.refresh_from_db()
    assert (running.state, running.desired) == (InstanceState.FAILED, Desired.STOPPED)
    assert (running.failure_code, running.fault_of) == ("gone_since_backup", FaultOf.NOBODY)
    assert not ReliabilityEvent.objects.filter(kind="host_fault").exists()
    agent.sync(report(epoch=Epoch.objects.get().number, instances=[observed(running, "stopped")]))
    assert not Lease.objects.filter(released_at=None).exists(), "its GPU is free"


def test_fault_082_what_the_backup_does_not_know_is_in_quarantine_not_killed(agent: Agent, running: Instance) -> None:
    other = Gpu.objects.filter(host=agent.host).exclude(uuid__in=running.gpu_uuids).get()
    late = Holding(uuid4().hex, 2, 1, "running", [other.uuid])
    state = agree(agent, holding(running), late)
    assert late.id not in {item.id for item in state.instances}, "nothing orders its end"
    assert free(agent) == 0
    answer = Incident.objects.get(kind=AFTER_BACKUP, closed_at=None).detail
    assert "was rented after that" in answer and other.uuid in answer
    assert answer.splitlines() == Epoch.objects.get().findings
    agent.sync(report(epoch=state.epoch, instances=[observed(running)], holdings=[late]))
    assert free(agent) == 0
    agent.sync(report(epoch=state.epoch, instances=[observed(running)]))
    assert free(agent) == 1, "its owner has removed the container"


def test_no_host_can_put_another_s_gpus_in_quarantine(enrolled: Callable[[], Agent], agent: Agent) -> None:
    thief = enrolled()
    begin_epoch(reason="a test")
    agree(agent)
    agree(thief, Holding(uuid4().hex, 1, 1, "running", [gpu.uuid for gpu in agent.facts.gpus]))
    assert (free(agent), free(thief)) == (2, 2)


def test_no_host_can_hide_what_others_found(enrolled: Callable[[], Agent], agent: Agent) -> None:
    """Ten hosts that name as much as is listed of each, then one that names one container."""
    liars = [enrolled() for _ in range(10)]
    begin_epoch(reason="a test")
    for liar in liars:
        agree(liar, *(Holding(uuid4().hex, 1, 1, "running", ["GPU-made-up"]) for _ in range(250)))
    late = Holding(uuid4().hex, 2, 1, "running", [agent.facts.gpus[0].uuid])
    agree(agent, late)
    assert Incident.objects.filter(kind=AFTER_BACKUP).count() == 1, "one grows, and none is closed for another"
    answer = Epoch.objects.get().findings
    assert agent.facts.gpus[0].uuid in answer[-1]
    assert Incident.objects.get(kind=AFTER_BACKUP, closed_at=None).detail.endswith(answer[-1])


def test_what_one_host_tells_is_listed_up_to_a_bound(agent: Agent) -> None:
    begin_epoch(reason="a test")
    with use_case():
        close_agreement(host_id=agent.host, findings=[f"{n} {'x' * 1000}" for n in range(1000)])
    answer = Epoch.objects.get().findings
    assert len(answer) == 301 and answer[-1].endswith("700 more are not listed.")
    assert max(map(len, answer)) < 600


def test_no_host_can_settle_another_s_instance(enrolled: Callable[[], Agent], running: Instance) -> None:
    thief = enrolled()
    before = Instance.objects.values().get()
    agree(thief, holding(running, run="gone", generation=7))
    assert Instance.objects.values().get() == before


def test_a_generation_beyond_reason_is_not_taken_over(agent: Agent, running: Instance) -> None:
    state = agree(agent, holding(running, generation=2**40, fence=2**40))
    assert [(item.generation, item.fence) for item in state.instances] == [(1, 1 + FENCE_JUMP)]


def test_what_is_agreed_on_is_not_agreed_on_again(agent: Agent, running: Instance) -> None:
    """A host that lost its journal says "epoch 0" again: it learns the market's word, and changes nothing of it."""
    number = agree(agent, holding(running)).epoch
    agree(agent, holding(running, run="gone", generation=9))
    running.refresh_from_db()
    assert (running.state, running.run_generation) == (InstanceState.RUNNING, 1)
    assert Epoch.objects.get().number == number


def test_an_agent_that_knows_no_epochs_converges_too(agent: Agent, running: Instance) -> None:
    """One of the version before: it refuses what is older than it has accepted, so its numbers are taken over."""
    state = agent.sync(Report("0.1.0", [1], None, instances=[observed(running, generation=8)]))
    assert [(item.fence, item.generation) for item in state.instances] == [(1 + FENCE_JUMP, 8)]
    assert free(agent) == 1


def test_a_market_older_than_its_hosts_is_told_what_to_do(agent: Agent, running: Instance) -> None:
    number = Epoch.objects.get().number
    agent.sync(report(epoch=number + 5, instances=[observed(running, "stopped")]))
    running.refresh_from_db()
    assert running.state == InstanceState.RUNNING
    assert f"run manage.py begin_epoch --above {number + 5}" in Incident.objects.get(kind="market_behind_its_hosts").detail
    out = StringIO()
    with pytest.raises(CommandError, match="Say what happened"):
        call_command("begin_epoch", "--reason", " ")
    call_command("begin_epoch", "--reason", "restored by hand", "--above", str(number + 5), stdout=out)
    assert Epoch.objects.order_by("-number").values_list("number", flat=True)[0] > number + 5
    assert "has begun" in out.getvalue()


def test_no_host_can_lead_the_market_to_an_epoch_without_a_next(agent: Agent, running: Instance) -> None:
    """An agent may say any number; the operator is not told to go above one that nobody can have begun."""
    number, last = Epoch.objects.get().number, 4_102_444_800
    agent.sync(report(epoch=last, instances=[observed(running, "stopped")]))
    running.refresh_from_db()
    assert running.state == InstanceState.RUNNING
    assert "--above" not in Incident.objects.get(kind="market_behind_its_hosts").detail
    with pytest.raises(CommandError, match="time that has not come"):
        call_command("begin_epoch", "--reason", "the host said so", "--above", str(last))
    assert Epoch.objects.get().number == number
