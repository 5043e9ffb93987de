"""Reports, freeze and retirement: who is open for new leases, and that leases stay whatever happens (D2)."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from common import clock
from common.errors import IllegalTransition, NotFound
from marketplace.constants import ENGINE_SLOW_AFTER_S
from marketplace.errors import HostInUse, OfferClosed
from marketplace.hosts.heartbeat import mark_silent_hosts
from marketplace.hosts.hosts import freeze_host, record_report, retire_host, unfreeze_host
from marketplace.hosts.offers import check_offers
from marketplace.leasing.lease import release_leases
from marketplace.models import Host, HostEvent, Lease, Offer
from tests.marketplace.shapes import leased, offer_of


def _report(host: Host, *, after: float = 0.0, engine_age_s: float = 0.0) -> None:
    at = clock.now() + timedelta(seconds=after)
    record_report(host_id=host.pk, at=at, engine_age_s=engine_age_s, agent_version="0.2.0")


def _kinds(host: Host) -> list[str]:
    return list(HostEvent.objects.filter(host=host).order_by("id").values_list("kind", flat=True))


def test_a_steady_report_is_one_update_and_leaves_offers_alone(host: Host) -> None:
    with CaptureQueriesContext(connection) as queries:
        _report(host, after=5)
    assert len(queries) == 1
    assert "marketplace_offer" not in queries[0]["sql"]
    host.refresh_from_db()
    assert host.agent_version == "0.2.0"


def test_a_late_report_does_not_turn_the_time_back(host: Host) -> None:
    _report(host, after=30)
    host.refresh_from_db()
    seen = host.last_seen_at
    _report(host, after=-30)
    host.refresh_from_db()
    assert host.last_seen_at == seen


def test_silence_closes_offers_keeps_leases_and_return_opens_them(host: Host, offer: Offer) -> None:
    """Fault 23: not relisted while silent; D2: the lease outlives the silence."""
    holder = uuid4()
    held = leased(offer, holder=holder)
    assert mark_silent_hosts(now=clock.now() + timedelta(seconds=61)) == 1
    host.refresh_from_db()
    assert (host.state, offer_of(host).gpu_free, offer_of(host).gpu_total) == ("silent", 0, 2)
    with pytest.raises(OfferClosed, match="silent"):
        leased(offer)
    assert list(Lease.objects.filter(released_at=None).values_list("gpu__uuid", flat=True)) == list(held.gpu_uuids)
    _report(host, after=62)
    host.refresh_from_db()
    assert (host.state, offer_of(host).gpu_free) == ("online", 1)
    assert Lease.objects.filter(holder=holder, released_at=None).count() == 1
    assert _kinds(host) == ["enrolled", "silent", "online"]
    assert check_offers(repair=False) == []


def test_a_release_while_silent_opens_nothing(host: Host, offer: Offer) -> None:
    holder = uuid4()
    leased(offer, 2, holder=holder)
    mark_silent_hosts(now=clock.now() + timedelta(seconds=61))
    assert release_leases(holder=holder, reason="written_off") == 2
    assert offer_of(host).gpu_free == 0
    assert check_offers(repair=False) == []


def test_fault_028_a_host_whose_engine_hangs_takes_no_new_rents(host: Host, offer: Offer) -> None:
    _report(host, engine_age_s=ENGINE_SLOW_AFTER_S)
    assert offer_of(host).gpu_free == 0
    with pytest.raises(OfferClosed, match="engine"):
        leased(offer)
    _report(host, engine_age_s=ENGINE_SLOW_AFTER_S + 20)
    _report(host, engine_age_s=0.1)
    assert offer_of(host).gpu_free == 2
    assert _kinds(host) == ["enrolled", "engine_slow", "engine_answers"]


def test_freeze_and_unfreeze(host: Host, offer: Offer) -> None:
    leased(offer)
    freeze_host(host_id=host.pk, reason="Two agents use one identity.", actor="agent")
    freeze_host(host_id=host.pk, reason="again", actor="agent")
    assert offer_of(host).gpu_free == 0
    with pytest.raises(OfferClosed, match="frozen"):
        leased(offer)
    _report(host, after=1)
    host.refresh_from_db()
    assert host.state == "frozen"  # a report alone does not thaw it
    unfreeze_host(host_id=host.pk, reason="looked at", actor="user:stella")
    assert offer_of(host).gpu_free == 1
    assert _kinds(host) == ["enrolled", "frozen", "online"]


def test_retirement_waits_for_the_last_lease(host: Host, offer: Offer) -> None:
    holder = uuid4()
    leased(offer, holder=holder)
    with pytest.raises(HostInUse):
        retire_host(host_id=host.pk, reason="sold", actor="test")
    release_leases(holder=holder, reason="stopped")
    retire_host(host_id=host.pk, reason="sold", actor="test")
    assert offer_of(host).gpu_free == 0
    _report(host)
    host.refresh_from_db()
    assert host.state == "retired"
    with pytest.raises(IllegalTransition):
        unfreeze_host(host_id=host.pk, reason="", actor="test")
    with pytest.raises(OfferClosed, match="retired"):
        leased(offer)


def test_unknown_hosts(hana: User) -> None:
    for service in (freeze_host, unfreeze_host, retire_host):
        with pytest.raises(NotFound):
            service(host_id=uuid4(), reason="", actor="")
    with pytest.raises(NotFound):
        record_report(host_id=uuid4(), at=clock.now(), engine_age_s=0, agent_version="")
