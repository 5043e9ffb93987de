"""Facts of an enrolled host: GPUs by UUID, offers by model, shares, and what other hosts' GPUs are worth (nothing)."""

import dataclasses
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from accounts.models import User
from common.db.transactions import use_case
from common.errors import InvalidInput, NotFound
from marketplace.errors import GpuTaken, SimulationRefused
from marketplace.hosts.hosts import ReportedHost, record_facts
from marketplace.hosts.offers import check_offers
from marketplace.leasing.lease import release_leases
from marketplace.models import Gpu, Host, Incident, Lease, Offer
from tests.marketplace.shapes import enrolled, gpu, leased, offer_of, shape

CARDS = [gpu(index=0), gpu(index=1)]


def _with(found: ReportedHost, **changes: object) -> ReportedHost:
    return dataclasses.replace(found, **changes)  # type: ignore[arg-type]  # any field of the shape


def test_the_same_facts_change_nothing(hana: User) -> None:
    host = enrolled(hana, CARDS)
    before = list(Offer.objects.values()), list(Gpu.objects.order_by("pk").values())
    with CaptureQueriesContext(
        connection,
    ) as queries:
        record_facts(host_id=host.pk, shape=shape(CARDS))
    assert (list(Offer.objects.values()), list(Gpu.objects.order_by("pk").values())) == before
    assert len(queries) <= 14


def test_a_gpu_that_is_gone_or_ill_is_not_free(hana: User) -> None:
    host = enrolled(hana, CARDS)
    record_facts(host_id=host.pk, shape=shape([CARDS[0]]))
    assert (offer_of(host).gpu_free, offer_of(host).gpu_total) == (1, 1)
    assert Gpu.objects.get(uuid=CARDS[1].uuid).present is False
    ill = dataclasses.replace(CARDS[0], healthy=False, detail="Xid 79")
    record_facts(host_id=host.pk, shape=shape([ill, CARDS[1]]))
    assert (offer_of(host).gpu_free, offer_of(host).gpu_total) == (1, 2)
    assert Gpu.objects.get(uuid=CARDS[0].uuid).detail == "Xid 79"
    record_facts(host_id=host.pk, shape=shape(CARDS))
    assert offer_of(host).gpu_free == 2
    assert check_offers(repair=False) == []


def test_fault_056_an_unfit_gpu_is_never_the_one_that_an_order_of_fewer_gets(hana: User) -> None:
    """The offer has a free GPU, so the order is accepted: it must be that one, though the unfit one comes first."""
    host = enrolled(hana, CARDS)
    record_facts(
        host_id=host.pk, shape=shape([dataclasses.replace(CARDS[0], healthy=False, detail="MIG divides it"), CARDS[1]])
    )
    assert leased(offer_of(host)).gpu_uuids == (CARDS[1].uuid,)


@pytest.mark.parametrize("why", ["MIG divides it", "A memory row waits to be remapped", "Unknown Error"])
def test_fault_056_an_unfit_gpu_is_kept_by_its_renter_and_given_to_nobody_else(hana: User, why: str) -> None:
    """Also 51 and 53: finish, then quarantine, then fit again once the agent says so."""
    host = enrolled(hana, [CARDS[0]])
    holder = uuid4()
    held = leased(offer_of(host), holder=holder)
    ill = dataclasses.replace(CARDS[0], healthy=False, detail=why)
    record_facts(host_id=host.pk, shape=shape([ill]))
    assert list(Lease.objects.filter(released_at__isnull=True).values_list("gpu__uuid", flat=True)) == list(held.gpu_uuids)
    with use_case():
        release_leases(holder=holder, reason="its renter left")
    assert offer_of(host).gpu_free == 0
    with pytest.raises(GpuTaken):
        leased(offer_of(host))
    record_facts(host_id=host.pk, shape=shape([CARDS[0]]))
    assert offer_of(host).gpu_free == 1


def test_fault_052_a_swapped_gpu_is_another_gpu(hana: User) -> None:
    """Fault 52: identity is the UUID, whatever the index."""
    host = enrolled(hana, CARDS)
    held = leased(offer_of(host), 2)
    swap = gpu(index=0)
    record_facts(host_id=host.pk, shape=shape([swap, CARDS[1]]))
    assert Gpu.objects.count() == 3
    assert set(held.gpu_uuids) == set(Lease.objects.values_list("gpu__uuid", flat=True))
    assert offer_of(host).gpu_free == 1


def test_a_new_model_waits_for_a_price(hana: User) -> None:
    host = enrolled(hana, CARDS)
    record_facts(host_id=host.pk, shape=shape([*CARDS, gpu("Tesla T4", 15_360)]))
    fresh = Offer.objects.get(gpu_model="t4")
    assert (fresh.listed, fresh.price_micros, fresh.gpu_free, fresh.gpu_total) == (False, 0, 0, 1)


def test_a_changed_share_makes_a_new_version(hana: User) -> None:
    host = enrolled(hana, CARDS)
    before = offer_of(host)
    record_facts(host_id=host.pk, shape=shape([*CARDS, gpu(index=2)]))
    after = offer_of(host)
    assert (before.version, after.version) == (before.version, before.version + 1)
    assert (before.cpu_millis_per_gpu, after.cpu_millis_per_gpu) == (16_000, 10_666)
    record_facts(host_id=host.pk, shape=shape([*CARDS, gpu(uuid=Gpu.objects.get(index=2).uuid, index=2)], disk_free_gb=3))
    assert offer_of(host).version == after.version


def test_earlier_leases_keep_their_share_and_it_is_not_given_twice(hana: User) -> None:
    """Fault 12 over time: a lease of the larger old share leaves no room for two of the smaller new one."""
    host = enrolled(hana, CARDS)
    leased(offer_of(host))
    record_facts(host_id=host.pk, shape=shape([*CARDS, gpu(index=2)]))
    assert offer_of(host).gpu_free == 2
    leased(offer_of(host))
    with pytest.raises(GpuTaken, match="CPU and memory"):
        leased(offer_of(host))
    sums = Lease.objects.values_list("cpu_millis", "ram_mb")
    assert sum(cpu for cpu, _ in sums) <= 32_000
    assert sum(ram for _, ram in sums) <= 131_072


def test_a_gpu_that_vanishes_under_a_lease_keeps_its_part(hana: User) -> None:
    host = enrolled(hana, CARDS)
    held = leased(offer_of(host)).gpu_uuids[0]
    record_facts(host_id=host.pk, shape=shape([card for card in CARDS if card.uuid != held]))
    assert offer_of(host).cpu_millis_per_gpu == 16_000
    assert leased(offer_of(host)).cpu_millis == 16_000


def test_fault_090_a_gpu_of_another_host_is_left_out_and_told(hana: User) -> None:
    victim = enrolled(hana, CARDS)
    thief = enrolled(hana, [gpu()], name="thief")
    record_facts(host_id=thief.pk, shape=shape([*CARDS, gpu("Tesla T4", 15_360)]))
    assert set(Gpu.objects.filter(host=victim).values_list("uuid", flat=True)) == {card.uuid for card in CARDS}
    assert offer_of(victim).gpu_free == 2
    assert sorted(Incident.objects.values_list("kind", "subject")) == sorted(("gpu_claimed", c.uuid) for c in CARDS)
    assert set(Gpu.objects.filter(host=thief, present=True).values_list("model", flat=True)) == {"t4"}


def test_the_hosts_columns_follow(hana: User) -> None:
    host = enrolled(hana, CARDS)
    record_facts(host_id=host.pk, shape=shape(CARDS, driver="560.1", cuda="12.6", disk_free_gb=7, address="gpu.example.org"))
    host.refresh_from_db()
    assert (host.driver, host.cuda, host.disk_free_gb, host.address) == ("560.1", "12.6", 7, "gpu.example.org")
    record_facts(host_id=host.pk, shape=shape(CARDS, address=""))
    host.refresh_from_db()
    assert host.address == "gpu.example.org"


def test_a_host_cannot_turn_simulated_where_that_is_off(hana: User, settings: Settings) -> None:
    host = enrolled(hana, CARDS)
    settings.SIMULATION_ALLOWED = False
    with pytest.raises(SimulationRefused):
        record_facts(host_id=host.pk, shape=shape(CARDS, runtime="simulated"))


def test_unknown_hosts_and_impossible_facts_are_refused(hana: User) -> None:
    with pytest.raises(NotFound):
        record_facts(host_id=uuid4(), shape=shape(1))
    with pytest.raises(InvalidInput):
        record_facts(host_id=enrolled(hana, CARDS).pk, shape=_with(shape(CARDS), ram_mb=0))


def test_a_host_that_limits_roots_keeps_room_for_a_system_disk(hana: User) -> None:
    """Of what it has free a system disk is taken first: the rest is what a data disk can have."""
    host = enrolled(hana, CARDS)
    assert (offer_of(host).system_disk_gb, offer_of(host).disk_free_gb) == (0, 1500)
    limited = _with(shape(CARDS), root_limit="disk", disk_free_gb=135)
    record_facts(host_id=host.pk, shape=limited)
    assert (offer_of(host).system_disk_gb, offer_of(host).disk_free_gb) == (20, 110)
    record_facts(host_id=host.pk, shape=_with(limited, disk_free_gb=12))
    assert offer_of(host).disk_free_gb == 0
    record_facts(host_id=host.pk, shape=_with(limited, root_limit="none"))
    assert (offer_of(host).system_disk_gb, offer_of(host).disk_free_gb) == (0, 130)
    assert check_offers(repair=False) == []


@pytest.mark.parametrize("elsewhere", [{"address": "203.0.113.77"}, {"port_first": 30_000}])
def test_ports_of_udp_count_as_untested_once_they_are_elsewhere(hana: User, elsewhere: dict[str, object]) -> None:
    host = enrolled(hana, CARDS)
    Host.objects.filter(pk=host.pk).update(udp_reached=True)
    record_facts(host_id=host.pk, shape=shape(CARDS))
    assert Host.objects.get(pk=host.pk).udp_reached is True
    record_facts(host_id=host.pk, shape=_with(shape(CARDS), **elsewhere))
    assert Host.objects.get(pk=host.pk).udp_reached is None
