"""Random markets and random searches, the same for a seed: every column, unknown values, ties, closed offers."""

import random
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from accounts.models import User
from common.clock import now
from common.ids import public_id
from marketplace.models import Host, Offer
from marketplace.pricing.offer_requirements import ImageNeeds
from marketplace.search.index.cuda_versions import version_number
from marketplace.search.language.fields import BILLING_MODES, SORTS, TERMS, Condition, Kind, OfferQuery, Op, Scalar

# As the owner of the tables: reports of faults, which the cascade reaches, are kept from everybody else.
EMPTY_OFFERS = """
ALTER TABLE instances_faultreport DISABLE TRIGGER fault_report_is_kept;
TRUNCATE marketplace_offer CASCADE;
ALTER TABLE instances_faultreport ENABLE TRIGGER fault_report_is_kept;
"""
MODELS = ("rtx-4090", "rtx-3090", "a100", "t4", "p40", "h100-sxm", "quadro-rtx-6000", "own-card", "rtx-3060")
REGIONS = ("cn-north", "eu-west", "us", "日本", "x")
CUDA = ("", "11", "11.8", "12.0", "12.1.3", "12.4", "9", "beta")
DISKS = ("nvme", "ssd", "hdd", "unknown")
TERM_NAMES = ("day", "week", "month", "year", "year3")


def seed_market(chance: random.Random, owner: User, count: int) -> list[UUID]:
    """`count` offers, three to a host at most; the ids."""
    hosts = [_host(chance, owner, number) for number in range(max(1, count * 2 // 3))]
    Host.objects.bulk_create(hosts)
    offers = list[Offer]()
    for host in hosts:
        for model in chance.sample(MODELS, 3):
            if len(offers) < count:
                offers.append(Offer(host=host, gpu_model=model, **offer_columns(chance)))
    Offer.objects.bulk_create(offers)
    return [offer.pk for offer in offers]


def _host(chance: random.Random, owner: User, number: int) -> Host:
    sizes = {"cpu_cores": 8, "ram_mb": 1024, "disk_total_gb": 100, "disk_free_gb": 50, "port_first": 1, "port_last": 9}
    return Host(owner=owner, name=f"rig-{number}", region="x", runtime="docker", address="", **sizes)


def offer_columns(chance: random.Random) -> dict[str, Any]:
    """Values from small sets, so that equal ones meet."""
    total = chance.choice([1, 2, 4, 8])

    def maybe(*values: Any) -> Any:
        return chance.choice([None, *values])

    return {
        "region": chance.choice(REGIONS),
        "runtime": chance.choice(["docker", "simulated"]),
        "simulated": chance.random() < 0.3,
        "host_name": f"host {chance.randint(1, 99)}",
        "verified": chance.random() < 0.5,
        "reliability_ppm": maybe(1_000_000, 999_000, 990_000, 985_321),
        "listed_until": maybe(*(now() + timedelta(hours=hours) for hours in (-5, 3, 24, 720, 9_000))),
        "cuda": chance.choice(CUDA),
        "driver": chance.choice(["", "550.54"]),
        "nvlink": chance.random() < 0.2,
        "disk_kind": chance.choice(DISKS),
        "disk_free_gb": chance.choice([0, 100, 500, 1_000]),
        "disk_read_mbps": maybe(100, 500, 3_000),
        "disk_write_mbps": maybe(90, 400),
        "net_up_mbps": maybe(100, 1_000),
        "net_down_mbps": maybe(100, 1_000, 10_000),
        "price_micros": chance.choice([0, 1, 333_333, 500_000, 1_000_000, 1_380_000, 3_060_000, 10**12]),
        "reserved_discounts": {
            name: chance.choice([0, 1, 500, 3_333, 10_000]) for name in TERM_NAMES if chance.random() < 0.6
        },
        "tiers": chance.choice([[], [[720, 1_500]], [[24, 100], [720, 3_333]]]),
        "spot_floor_micros": maybe(0, 1, 250_000, 500_000, 1_000_000),
        "disk_micros_gb_day": chance.choice([0, 1, 7, 2_000, 33_333]),
        "gpu_total": total,
        "gpu_free": chance.choice([0, 1, total, chance.randint(0, total)]),
        "spot_now_micros": maybe(0, 300_000, 2_000_000),
        "vram_mb": chance.choice([8, 11, 16, 24, 40, 80]) * 1_024,
        "cpu_millis_per_gpu": chance.choice([500, 4_000, 8_333, 16_000]),
        "ram_mb_per_gpu": chance.choice([0, 16_384, 32_000, 65_536]),
        "created_at": now() - timedelta(minutes=chance.randint(0, 500)),
    }


_NUMBERS: dict[str, Sequence[str]] = {
    "vram": ("0", "11", "16", "23.5", "24", "80", "1000000"),
    "fp16": ("0", "71", "165", "312", "53.8", "0.001"),
    "fp32": ("0", "12.15", "35.58", "82.6", "19.5"),
    "count": ("0", "1", "2", "3", "8"),
    "gpu_total": ("1", "2", "4", "7.5"),
    "reliability": ("0", "0.99", "0.985321", "0.9853215", "1"),
    "lease_hours": ("0", "3", "24", "100.5", "10000"),
    "price": ("0", "0.333333", "0.3333335", "0.5", "1", "1.38", "3.06", "2000000", "100000000000000000000000000"),
    "total": ("0", "0.5", "1", "2", "3.06", "12.24", "8000000"),
    "value": ("0", "53.8", "142", "330", "165", "100.001"),
    "cpu": ("0.5", "4", "8.333", "8"),
    "ram": ("0", "16", "31.25", "64"),
    "disk_free": ("0", "100", "99.9", "500"),
    "disk_read": ("0", "100", "500"),
    "disk_write": ("0", "90", "400"),
    "net_up": ("0", "100", "1000"),
    "net_down": ("0", "100", "1000", "99999999999999999999"),
}
_WORDS: dict[str, Sequence[str]] = {
    "gpu": (*MODELS, "never-seen"),
    "series": ("GeForce", "Tesla", "Quadro", "none"),
    "architecture": ("Ampere", "Ada", "Turing", "none"),
    "region": (*REGIONS, "nowhere"),
    "runtime": ("docker", "simulated"),
    "disk": DISKS,
    "cuda": ("9", "11", "11.8", "12", "12.1", "12.1.3", "13.0.1"),
}


def any_value(chance: random.Random, name: str) -> Scalar:
    kind = TERMS[name].kind
    if kind is Kind.FLAG:
        return chance.random() < 0.5
    if name == "host":
        keys = list(Host.objects.values_list("pk", flat=True)[:20])
        known = [public_id("host", chance.choice(keys))] if keys else []
        return chance.choice([*known, "host_" + "0" * 32, "nonsense"])
    return Decimal(chance.choice(_NUMBERS[name])) if name in _NUMBERS else chance.choice(_WORDS[name])


def any_condition(chance: random.Random, name: str | None = None, op: Op | None = None) -> Condition:
    name = name or chance.choice(list(TERMS))
    op = op or chance.choice(sorted(TERMS[name].ops))
    if op in (Op.IN, Op.NOT_IN):
        return Condition(name, op, tuple(any_value(chance, name) for _ in range(chance.randint(1, 4))))
    return Condition(name, op, any_value(chance, name))


def any_image(chance: random.Random) -> ImageNeeds:
    host_id = chance.choice([*[None] * 9, *Offer.objects.order_by("pk").values_list("host_id", flat=True)[:1]])
    return ImageNeeds(version_number(chance.choice(["", "", "", "11", "12.1"])), chance.choice([0, 0, 50, 300]), host_id)


def any_query(chance: random.Random) -> OfferQuery:
    conditions = tuple(any_condition(chance) for _ in range(chance.choice([0, 1, 1, 2, 2, 3, 5])))
    return OfferQuery(
        conditions=conditions,
        gpu_count=chance.choice([1, 1, 1, 2, 3, 8]),
        billing_mode=chance.choice(["hourly", *BILLING_MODES]),
        term=chance.choice(TERM_NAMES),
        data_disk_gb=chance.choice([0, 0, 50, 51, 200, 3_333]),
        image_needs=any_image(chance),
        sort=chance.choice(["", "-"]) + chance.choice(SORTS),
        limit=chance.choice([1, 7, 50, 200]),
    )
