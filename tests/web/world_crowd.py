"""A crowded market: offers of every kind, written straight into the tables, since thousands of enrolments take minutes."""

from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any, Final

from accounts.models import User
from common import clock
from marketplace.gpu_catalogue.catalogue import by_slug
from marketplace.models import Host, Offer
from marketplace.states import Verification

_MODELS: Final = (
    *("rtx-4090", "rtx-3090", "a100", "h100-sxm", "l40s", "rtx-2080-ti", "t4", "v100", "rtx-a6000", "rtx-5090", "h200"),
    *("rtx-3080-ti", "a40", "l4", "a10", "rtx-3060", "p100", "gtx-1080-ti"),
)
_REGIONS: Final = ("eu-west", "us-east", "us-west", "Shanghai", "北京", "Singapore", "nordics", "São Paulo")
_DISKS: Final = ("nvme", "ssd", "hdd")
_CUDAS: Final = ("11.8", "12.1", "12.4", "12.6", "12.8")
_PRICE_OF_TFLOP: Final = 3_000


def crowd(owner: User, count: int, *, seed: int = 7) -> list[Offer]:
    """`count` hosts with one offer each; the same seed gives the same market."""
    random = Random(seed)
    hosts = Host.objects.bulk_create([_host(owner, number, random) for number in range(count)])
    return Offer.objects.bulk_create([_offer(host, random) for host in hosts])


def _host(owner: User, number: int, random: Random) -> Host:
    measured, now = random.random() < 0.8, clock.now()
    return Host(
        owner=owner,
        name=f"rack-{number // 20 + 1:02d}-{number % 20 + 1:02d}",
        region=random.choice(_REGIONS),
        verification=random.choice([Verification.VERIFIED, Verification.UNVERIFIED]),
        runtime="docker",
        address="host.example.net",
        cpu_model=random.choice(["AMD EPYC 7763 64-Core", "Intel Xeon Platinum 8358", "AMD EPYC 9654 96-Core"]),
        cpu_cores=128,
        ram_mb=random.choice([128, 256, 512, 1024]) * 1024,
        disk_total_gb=8_000,
        disk_free_gb=random.randrange(100, 8_000, 10),
        disk_kind=random.choice(_DISKS),
        disk_read_mbps=random.randrange(150, 7_000) if measured else None,
        disk_write_mbps=random.randrange(120, 5_000) if measured else None,
        disk_measured_at=now - timedelta(hours=random.randrange(1, 200)) if measured else None,
        disk_samples=random.randrange(1, 30) if measured else 0,
        net_up_mbps=random.randrange(20, 10_000) if measured else None,
        net_down_mbps=random.randrange(50, 10_000) if measured else None,
        net_measured_at=now - timedelta(hours=random.randrange(1, 200)) if measured else None,
        net_samples=random.randrange(1, 60) if measured else 0,
        nvlink=random.random() < 0.15,
        driver=random.choice(["535.183.01", "550.90.07", "560.35.03"]),
        cuda=random.choice(_CUDAS),
        listed_until=now + timedelta(days=random.randrange(5, 400)) if random.random() < 0.4 else None,
        reliability_ppm=1_000_000 - int(random.expovariate(1 / 8_000)) if random.random() < 0.85 else None,
        port_first=40_000,
        port_last=40_999,
    )


def _offer(host: Host, random: Random) -> Offer:
    model = by_slug(random.choice(_MODELS))
    total = random.choice([1, 2, 4, 8])
    price = max(40_000, int((model.fp16_tflops or 20) * _PRICE_OF_TFLOP * random.uniform(0.6, 1.6)) // 10_000 * 10_000)
    return Offer(
        host=host,
        gpu_model=model.slug,
        gpu_total=total,
        gpu_free=random.randrange(1, total + 1),
        vram_mb=(model.vram_gb[-1] if model.vram_gb else 8) * 1024,
        cpu_millis_per_gpu=random.choice([4_000, 8_000, 12_000, 16_000]),
        ram_mb_per_gpu=random.choice([16, 32, 64, 128]) * 1024,
        price_micros=price,
        host_name=host.name,
        verified=host.verified,
        **_prices(price, random),
        **{name: getattr(host, name) for name in _COPIED},
    )


_COPIED: Final[Sequence[str]] = (
    *("region", "runtime", "reliability_ppm", "listed_until", "cpu_model", "driver", "cuda", "nvlink", "disk_kind"),
    *("disk_free_gb", "disk_read_mbps", "disk_write_mbps", "net_up_mbps", "net_down_mbps"),
)


def _prices(price: int, random: Random) -> dict[str, Any]:
    discounts = {"day": 300, "week": 800, "month": 2_000, "year": 3_500}
    return {
        "reserved_discounts": discounts if random.random() < 0.6 else {},
        "spot_floor_micros": price * 4 // 10 if random.random() < 0.5 else None,
        "disk_micros_gb_day": random.choice([0, 200, 350, 500]),
    }
