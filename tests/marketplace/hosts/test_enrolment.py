"""Enrolment: one token, one host, within its time; GPUs of another host refused; simulation only where allowed."""

from datetime import timedelta

import pytest
import time_machine
from pytest_django import Settings

from accounts.models import User
from common.errors import InvalidInput
from marketplace.constants import HOST_RAM_RESERVE_DIVISOR, JOIN_TOKEN_LIFETIME
from marketplace.errors import GpuClaimed, JoinTokenRefused, NotHostOwner, SimulationRefused
from marketplace.hosts.hosts import enrol_host, retire_host
from marketplace.hosts.join_tokens import issue_join_token
from marketplace.models import Gpu, Host, HostEvent, JoinToken, Offer
from tests.marketplace.shapes import PRICE, enrolled, gpu, offer_of, shape


def _token(owner: User, price: int = PRICE) -> str:
    return issue_join_token(owner=owner, host_name="rig", region="eu", price_micros=price)[1]


def test_a_host_with_its_gpus_and_offers_comes_to_be(hana: User) -> None:
    gpus = [gpu(index=0), gpu(index=1), gpu("Tesla T4", 15_360, index=2)]
    host = enrolled(hana, gpus, cpu_cores=32, ram_mb=131_072)
    assert (host.owner_id, host.name, host.region, host.state) == (hana.pk, "rig", "eu", "online")
    assert (host.address, host.agent_version, host.simulated) == ("198.51.100.7", "0.1.0", False)
    assert set(Gpu.objects.values_list("uuid", "model")) == {
        (gpus[0].uuid, "rtx-4090"),
        (gpus[1].uuid, "rtx-4090"),
        (gpus[2].uuid, "t4"),
    }
    offers = {offer.gpu_model: offer for offer in Offer.objects.all()}
    assert {slug: (each.gpu_free, each.gpu_total, each.vram_mb) for slug, each in offers.items()} == {
        "rtx-4090": (2, 2, 24 * 1024),
        "t4": (1, 1, 16 * 1024),
    }
    for each in offers.values():
        assert each.cpu_millis_per_gpu == 32_000 // 3
        assert each.ram_mb_per_gpu == (131_072 - 131_072 // HOST_RAM_RESERVE_DIVISOR) // 3
        assert (each.price_micros, each.listed, each.region, each.runtime) == (PRICE, True, "eu", "docker")
    assert HostEvent.objects.get(host=host).kind == "enrolled"


def test_a_token_is_for_one_host(hana: User) -> None:
    token = _token(hana)
    host = enrol_host(token=token, shape=shape(1), agent_version="1")
    with pytest.raises(JoinTokenRefused, match="already used"):
        enrol_host(token=token, shape=shape(1), agent_version="1")
    assert Host.objects.get() == host
    assert JoinToken.objects.get().used_by == host


def test_a_token_ends(hana: User) -> None:
    assert timedelta(minutes=15) == JOIN_TOKEN_LIFETIME
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False) as clock:
        token = _token(hana)
        clock.shift(JOIN_TOKEN_LIFETIME)
        with pytest.raises(JoinTokenRefused, match="expired"):
            enrol_host(token=token, shape=shape(1), agent_version="1")
        clock.shift(timedelta(microseconds=-1))
        assert enrol_host(token=token, shape=shape(1), agent_version="1").name == "rig"


@pytest.mark.parametrize("token", ["", "join_unknown", "join_" + "x" * 10_000, "\x00", "钥匙"])
def test_an_unknown_token_is_refused(hana: User, token: str) -> None:
    with pytest.raises(JoinTokenRefused):
        enrol_host(token=token, shape=shape(1), agent_version="1")


def test_the_secret_is_not_kept(hana: User) -> None:
    token, secret = issue_join_token(owner=hana, host_name=" rig\n1 ", region="eu", price_micros=0)
    assert token.host_name == "rig 1"
    assert secret.startswith("join_") and len(secret) > 40
    assert all(secret not in str(value) for value in JoinToken.objects.values().get().values())


def test_only_host_owners_get_tokens(alice: User) -> None:
    with pytest.raises(NotHostOwner):
        issue_join_token(owner=alice, host_name="rig", region="eu", price_micros=PRICE)


@pytest.mark.parametrize(("name", "region", "price"), [("", "eu", 1), ("rig", " ", 1), ("rig", "eu", -1)])
def test_a_token_needs_a_name_a_region_and_a_price(hana: User, name: str, region: str, price: int) -> None:
    with pytest.raises(InvalidInput) as refusal:
        issue_join_token(owner=hana, host_name=name, region=region, price_micros=price)
    assert len(refusal.value.errors) == 1


def test_a_gpu_of_another_host_is_refused_and_the_token_stays_good(hana: User, stella: User) -> None:
    first = gpu()
    enrolled(hana, [first])
    stella.is_host_owner = True
    token = issue_join_token(owner=stella, host_name="rival", region="eu", price_micros=PRICE)[1]
    with pytest.raises(GpuClaimed):
        enrol_host(token=token, shape=shape([gpu(), first]), agent_version="1")
    assert Host.objects.count() == 1 and Gpu.objects.count() == 1
    assert enrol_host(token=token, shape=shape([gpu()]), agent_version="1").name == "rival"


def test_gpus_of_a_retired_host_may_come_back(hana: User) -> None:
    card = gpu()
    old = enrolled(hana, [card])
    retire_host(host_id=old.pk, reason="sold", actor="test")
    new = enrolled(hana, [card], name="new")
    assert Gpu.objects.get(uuid=card.uuid).host == new
    assert (offer_of(new).gpu_free, offer_of(old).gpu_free, offer_of(old).gpu_total) == (1, 0, 0)


def test_simulation_is_refused_where_it_is_off(hana: User, settings: Settings) -> None:
    settings.SIMULATION_ALLOWED = False
    for simulated in (shape(1, runtime="simulated"), shape([gpu(simulated=True)])):
        with pytest.raises(SimulationRefused):
            enrol_host(token=_token(hana), shape=simulated, agent_version="1")
    settings.SIMULATION_ALLOWED = True
    host = enrol_host(token=_token(hana), shape=shape([gpu(simulated=True)]), agent_version="1")
    assert host.simulated and offer_of(host).simulated


def test_without_a_price_nothing_is_on_the_market(hana: User) -> None:
    host = enrolled(hana, 2, price=0)
    assert (offer_of(host).listed, offer_of(host).gpu_free, offer_of(host).gpu_total) == (False, 0, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        shape(1, cpu_cores=0),
        shape(1, ram_mb=-1),
        shape(1, disk_free_gb=2**31),
        shape(1, port_first=5, port_last=4),
        shape(1, port_last=70_000),
        shape(1, runtime="podman"),
        shape([gpu(vram_mb=-1)]),
        shape([gpu(uuid="")]),
        shape([gpu(uuid="GPU 1")]),
        shape([gpu(uuid="GPU\n")]),
        shape([gpu(uuid="x" * 81)]),
        shape([gpu(uuid="GPU-same"), gpu(uuid="GPU-same")]),
        shape(65),
    ],
)
def test_what_no_host_can_have_is_refused(hana: User, wrong: object) -> None:
    with pytest.raises(InvalidInput):
        enrol_host(token=_token(hana), shape=wrong, agent_version="1")  # type: ignore[arg-type]  # pytest passes it as object
    assert not Host.objects.exists()


def test_an_agents_texts_are_cut_and_cleaned(hana: User) -> None:
    host = enrolled(hana, [gpu(name="RTX\x1b[31m\x00 4090" + "x" * 500)], kernel="k" * 999, warnings=["a\x00b"], address="")
    host.refresh_from_db()
    assert len(host.kernel) == 120
    assert host.warnings == ["a b"]
    assert host.address == "rig"  # better than nothing: its own name
    assert "\x1b" not in Gpu.objects.get().name


def test_a_host_without_gpus_has_no_offer(hana: User) -> None:
    assert not Offer.objects.filter(host=enrolled(hana, 0)).exists()
