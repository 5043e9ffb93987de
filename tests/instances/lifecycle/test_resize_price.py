"""A resize takes no risen price without a word: 409 price_changed, as a start answers it."""

import json
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from common.ids import public_id
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from marketplace.models import Offer
from tests.instances.fake_host import FakeHost, order_running, reload
from tests.instances.fixtures import Sign

pytestmark = pytest.mark.django_db


@pytest.fixture
def stopped(rin: User, host: FakeHost) -> Instance:
    """One GPU at 3.60, stopped."""
    instance = order_running(rin, host)
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    return reload(instance)


def resize(api: Client, instance: Instance, **body: Any) -> Any:
    address = f"/api/v1/instances/{public_id('inst', instance.pk)}/resize"
    return api.post(address, json.dumps(body), content_type="application/json")


def test_more_gpus_at_the_agreed_price_need_no_word(sign: Sign, rin: User, stopped: Instance) -> None:
    assert resize(sign(rin), stopped, gpu_count=2).status_code == 202
    assert reload(stopped).rate_micros_per_hour == 7_200_000


def test_a_risen_price_is_refused_until_it_is_accepted(sign: Sign, rin: User, stopped: Instance) -> None:
    Offer.objects.filter(pk=stopped.offer_id).update(price_micros=50_000_000)
    api = sign(rin)
    refused = resize(api, stopped, gpu_count=2)
    assert (refused.status_code, refused.json()["code"]) == (409, "price_changed")
    assert refused.json()["hourly_rate"] == "100.00"
    assert resize(api, stopped, gpu_count=2, max_hourly_rate="99.99").status_code == 409
    assert reload(stopped).gpu_count == 1
    assert resize(api, stopped, gpu_count=2, max_hourly_rate="100.00").status_code == 202


def test_fewer_gpus_at_a_risen_price_are_asked_about_too(sign: Sign, rin: User, stopped: Instance) -> None:
    api = sign(rin)
    assert resize(api, stopped, gpu_count=2).status_code == 202
    Offer.objects.filter(pk=stopped.offer_id).update(price_micros=3_600_001)
    assert resize(api, stopped, gpu_count=1).status_code == 409


def test_the_steps_of_a_tiered_rent_are_part_of_the_price(sign: Sign, rin: User, stopped: Instance) -> None:
    Instance.objects.filter(pk=stopped.pk).update(billing_mode="tiered", tiers=[[720, 3_060_000]])
    Offer.objects.filter(pk=stopped.offer_id).update(tiers=[[720, 500]])
    api = sign(rin)
    assert resize(api, stopped, gpu_count=2).status_code == 409
    assert resize(api, stopped, gpu_count=2, max_hourly_rate="7.20").status_code == 202


def test_a_disk_that_grows_at_a_risen_price_is_asked_about(sign: Sign, rin: User, stopped: Instance) -> None:
    Instance.objects.filter(pk=stopped.pk).update(data_disk_gb=60, disk_micros_per_day=10 * 4_800)
    Offer.objects.filter(pk=stopped.offer_id).update(disk_micros_gb_day=9_600)
    api = sign(rin)
    refused = resize(api, stopped, data_disk_gb=80)
    assert (refused.status_code, refused.json()["code"]) == (409, "price_changed")
    daily = refused.json()["disk_daily"]
    assert resize(api, stopped, data_disk_gb=80, max_disk_daily=daily).status_code == 202
