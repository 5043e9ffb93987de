"""Models on the market, and their order."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from marketplace.gpu_catalogue.catalogue import MODELS
from marketplace.search.gpu_ranking import RANKINGS, model_on_market, models_on_market, ranked
from tests.marketplace.shapes import enrolled, gpu, leased, offer_of

A100 = "NVIDIA A100-SXM4-80GB"


@pytest.fixture
def several(hana: User) -> None:
    enrolled(hana, 4, name="dear", price=500_000)
    enrolled(hana, 2, name="cheap", price=400_000)
    enrolled(hana, [gpu(name=A100, vram_mb=81_920)], name="sim", price=100_000, runtime="simulated")
    enrolled(hana, [gpu(name="NVIDIA H800", vram_mb=81_559)], name="strange", price=2_000_000)


def test_the_lowest_price_and_the_free_gpus_of_each_model(several: None) -> None:
    rtx = models_on_market()["rtx-4090"]
    assert (rtx.free, rtx.offers, rtx.low_micros, rtx.simulated) == (6, 2, 400_000, False)
    assert rtx.value == pytest.approx(165 / 0.4)
    t4 = models_on_market()["t4"]
    assert (t4.free, t4.low_micros, t4.value) == (0, None, None)


def test_only_simulated_offers_say_so_and_never_undercut_real_ones(several: None, hana: User) -> None:
    simulated = models_on_market()["a100"]
    assert (simulated.simulated, simulated.low_micros) == (True, 100_000)
    enrolled(hana, [gpu(name=A100, vram_mb=81_920)], name="real", price=1_000_000)
    real = models_on_market()["a100"]
    assert (real.simulated, real.low_micros, real.free) == (False, 1_000_000, 1)


def test_taken_gpus_do_not_count(several: None, hana: User) -> None:
    host = enrolled(hana, [gpu(name="Tesla T4", vram_mb=15_360)], name="small", price=50_000)
    leased(offer_of(host))
    assert models_on_market()["t4"].low_micros is None


def test_unknown_models_are_listed_while_they_are_offered(several: None) -> None:
    strange = model_on_market("h800")
    assert strange is not None
    assert not strange.model.known
    assert strange.value is None
    assert model_on_market("nothing-of-the-kind") is None
    assert len(models_on_market()) == len(MODELS) + 1


def test_one_query(several: None, django_assert_num_queries: Callable[[int], Any]) -> None:
    with django_assert_num_queries(1):
        ranked("value")


@pytest.mark.parametrize("order", RANKINGS)
def test_every_order_lists_every_model_once(several: None, order: str) -> None:
    slugs = [one.model.slug for one in ranked(order)]
    assert len(slugs) == len(set(slugs)) == len(MODELS) + 1


def test_orders(several: None) -> None:
    first = {order: ranked(order)[0].model.slug for order in RANKINGS}
    assert first == {
        "fp16": "b200",
        "fp32": "rtx-5090",
        "value": "a100",  # 312 TFLOPS for 0.10
        "price": "a100",
        "vram": "b200",
        "bandwidth": "b200",
        "name": "a10",
    }
    assert [one.model.slug for one in ranked("price")][:3] == ["a100", "rtx-4090", "h800"]
