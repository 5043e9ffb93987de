"""A change of an offer's prices in the events of its host: as data, and worded in the reader's language."""

import pytest
from django.utils.translation import override

from common.messages.rendering import english, in_html, plain
from marketplace.hosts.offers import ListingChange, set_prices
from marketplace.models import HostEvent, Offer

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("before", "after", "words", "chinese"),
    [
        (
            {},
            {"price_micros": 2_500_000},
            "price per GPU-hour $2.00 → $2.50",
            "每卡每小时价格 $2.00 → $2.50",
        ),
        (
            {"reserved_discounts": {"day": 500, "week": 1_000, "year3": 3_000}},
            {"reserved_discounts": {"day": None, "week": 1_250, "month": 2_000}},
            "reserved for 1 day: 5% off → not offered; reserved for 1 week: 10% → 12.5% off;"
            " reserved for 1 month: not offered → 20% off",
            "包年包月 1 天：减 5% → 不提供；包年包月 1 周：减 10% → 减 12.5%；包年包月 1 个月：不提供 → 减 20%",
        ),
        (
            {"tiers": []},
            {"tiers": [(2, 1_000), (4, 2_500)]},
            "tiers: none → 10% off after 2 h; 25% off after 4 h",
            "阶梯：无 → 满 2 小时减 10%；满 4 小时减 25%",
        ),
        (
            {"tiers": [(2, 1_000)]},
            {"tiers": []},
            "tiers: 10% off after 2 h → none",
            "阶梯：满 2 小时减 10% → 无",
        ),
        ({}, {"spot_floor_micros": 500_000}, "floor price none → $0.50", "底价 无 → $0.50"),
        ({"spot_floor_micros": 500_000}, {"spot_floor_micros": 0}, "floor price $0.50 → none", "底价 $0.50 → 无"),
        (
            {"spot_floor_micros": 500_000, "disk_micros_gb_day": 4_800},
            {"spot_floor_micros": 600_000, "disk_micros_gb_day": 5_000},
            "floor price $0.50 → $0.60; storage price per GB-day $0.0048 → $0.005",
            "底价 $0.50 → $0.60；存储价（每 GB 每天） $0.0048 → $0.005",
        ),
        (
            {"hold_bps": 5_000},
            {"hold_bps": 3_333},
            "fee for kept GPUs 50% → 33.33%",
            "关机保留 GPU 的费用 50% → 33.33%",
        ),
    ],
)
def test_what_changed_is_worded_for_its_reader(
    offer: Offer, before: dict[str, object], after: dict[str, object], words: str, chinese: str
) -> None:
    host = offer.host
    for change in (before, after):
        if change:
            set_prices(actor_id=host.owner_id, change=ListingChange(offer.pk, **change))  # type: ignore[arg-type]
    event = HostEvent.objects.filter(host=host, kind="price_changed").latest("pk")
    assert event.message is not None
    assert english(event.message) == event.detail == f"{offer.gpu_model}: {words}"
    with override("zh-hans"):
        assert plain(event.message) == f"{offer.gpu_model}: {chinese}"
        assert "<bdi>" in in_html(event.message)
