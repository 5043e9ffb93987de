"""A host that was written off: its agent stays refused, and who comes back on its machine removes what is left first."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import IntegrityError

from accounts.models import User
from agents.protocol.messages import ObservedInstance
from common import clock
from instances.models import Instance
from instances.write_offs.services import settle_write_offs
from marketplace.hosts.offers import check_offers
from marketplace.hosts.write_offs import write_off_host
from marketplace.models import Host, HostEvent, Offer

from .conftest import Agent, audited, code_of, report

pytestmark = pytest.mark.django_db
Rent = Callable[[Agent], Instance]


@pytest.fixture
def lost(agent: Agent, rent: Rent, stella: User) -> Instance:
    """An instance that ran on the agent's host when that was written off."""
    instance = rent(agent)
    agent.sync(report(instances=[ObservedInstance(instance.pk.hex, 1, "running", instance.gpu_uuids)]))
    Host.objects.filter(pk=agent.host).update(state="silent", last_seen_at=clock.now() - timedelta(hours=1))
    write_off_host(staff=stella, host_id=agent.host, reason="It was stolen.", now=clock.now())
    settle_write_offs(now=clock.now())
    instance.refresh_from_db()
    assert instance.state == "gone"
    return instance


def test_the_old_agent_stays_refused(agent: Agent, lost: Instance, join_token: Callable[[], str]) -> None:
    late = report(instances=[ObservedInstance(lost.pk.hex, 1, "running", lost.gpu_uuids)])
    assert code_of(agent.send(late)) == (401, "revoked")
    agent.restart()
    assert code_of(agent.send(late)) == (401, "revoked")
    fresh = Agent(agent.client, facts=agent.facts)
    assert fresh.enrol(join_token()).status_code == 201
    assert fresh.host != agent.host, "a host that was written off never comes back as itself"
    assert code_of(agent.send(late)) == (401, "revoked")
    lost.refresh_from_db()
    assert lost.state == "gone"


def test_fault_025_what_is_left_goes_before_anything_is_rented(
    agent: Agent,
    lost: Instance,
    join_token: Callable[[], str],
    rent: Rent,
) -> None:
    fresh = Agent(agent.client, facts=agent.facts)
    fresh.enrol(join_token())
    offer = Offer.objects.get(host=fresh.host)
    assert (offer.gpu_total, offer.gpu_free) == (2, 0)
    answer = fresh.sync()
    assert [(item.id, item.run) for item in answer.instances] == [(lost.pk.hex, "gone")]
    assert answer.instances[0].fence >= lost.fence
    fresh.sync(report(instances=[ObservedInstance(lost.pk.hex, 1, "stopping", lost.gpu_uuids)]))
    assert Offer.objects.get(pk=offer.pk).gpu_free == 0
    again = fresh.sync(report(absent=[lost.pk.hex]))
    assert Host.objects.get(pk=fresh.host).leftovers_of == []
    assert Offer.objects.get(pk=offer.pk).gpu_free == 2
    assert HostEvent.objects.filter(host=fresh.host, kind="leftovers_removed").exists()
    assert [item.id for item in fresh.sync().instances] == []
    assert again.instances[0].run == "gone"
    assert ("foreign_instance",) not in {(reason,) for _host, reason in audited()}, "it may speak of what it is to remove"
    assert rent(fresh).host_id == fresh.host
    assert check_offers(repair=False) == []


def test_a_machine_whose_write_off_is_not_settled_is_not_enrolled_yet(
    agent: Agent, stella: User, join_token: Callable[[], str]
) -> None:
    Host.objects.filter(pk=agent.host).update(state="silent", last_seen_at=clock.now() - timedelta(hours=1))
    write_off_host(staff=stella, host_id=agent.host, reason="It was stolen.", now=clock.now())
    fresh = Agent(agent.client, facts=agent.facts)
    assert code_of(fresh.enrol(join_token())) == (409, "gpu_claimed")
    settle_write_offs(now=clock.now())
    assert fresh.enrol(join_token()).status_code == 201
    fresh.sync()
    assert Offer.objects.get(host=fresh.host).gpu_free == 2, "nothing was left: the first report clears it"


def test_the_table_never_lets_it_be_online_again(agent: Agent, lost: Instance, join_token: Callable[[], str]) -> None:
    fresh = Agent(agent.client, facts=agent.facts)
    fresh.enrol(join_token())
    with pytest.raises(IntegrityError):
        Host.objects.filter(pk=agent.host).update(state="online")
