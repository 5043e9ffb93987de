"""400 searches of renters, the same at every run: as API parameters and as SQL."""

import random
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final
from urllib.parse import urlencode

from bench.market_seed import models, regions

MIXES: Final = 400
PAGE: Final = 50
PASSES: Final = 5  # whose median counts, so that one delay of the machine is not taken for a mix
_MIB: Final = 1_024


@dataclass
class Mix:
    """One search; `pairs` are parameters of `GET /offers`, and `where` is the same in SQL."""

    pairs: list[tuple[str, str]] = field(default_factory=list)
    where: list[str] = field(default_factory=lambda: ["gpu_free > 0"])
    arguments: list[object] = field(default_factory=list)

    def ask(self, name: str, value: object, sql: str, argument: object) -> None:
        self.pairs.append((name, str(value)))
        self.where.append(sql)
        self.arguments.append(argument)

    @property
    def address(self) -> str:
        return urlencode(self.pairs)

    @property
    def condition(self) -> str:
        return " AND ".join(self.where)


def mixes() -> list[Mix]:
    chance = random.Random(20260)  # noqa: S311  (a benchmark)
    return [_mix(chance) for _ in range(MIXES)]


def _mix(chance: random.Random) -> Mix:
    """Return a search; each of twelve filters has the probability with which renters set it."""
    mix = Mix()
    _choices(mix, chance)
    _numbers(mix, chance)
    return mix


def _choices(mix: Mix, chance: random.Random) -> None:
    if chance.random() < 0.6:  # noqa: PLR2004  (likelihoods of a benchmark)
        picked = chance.sample(models(), chance.choice([1, 1, 2, 3]))
        mix.pairs += [("gpu_model", slug) for slug in picked]
        mix.where.append("gpu_model = ANY (%s)")
        mix.arguments.append(picked)
    if chance.random() < 0.4:  # noqa: PLR2004
        picked = chance.sample(regions(), chance.choice([1, 2]))
        mix.pairs += [("region", name) for name in picked]
        mix.where.append("region = ANY (%s)")
        mix.arguments.append(picked)
    if chance.random() < 0.2:  # noqa: PLR2004
        kind = chance.choice(["nvme", "ssd"])
        mix.ask("disk_kind", kind, "disk_kind = %s", kind)
    if chance.random() < 0.3:  # noqa: PLR2004
        mix.ask("verified", "true", "verified = %s", True)


def _numbers(mix: Mix, chance: random.Random) -> None:
    count = chance.choice([1, 1, 1, 2, 4])
    if count > 1:
        mix.ask("gpu_count", count, "gpu_free >= %s", count)
    asked = (
        (0.4, "price_max", ("0.8", "1.5", "3"), "price_micros <= %s", lambda text: int(Decimal(text) * 1_000_000)),
        (0.3, "vram_gb_min", ("16", "24", "32"), "vram_mb >= %s", lambda text: int(text) * _MIB),
        (0.2, "reliability_min", ("0.95", "0.99"), "reliability_ppm >= %s", lambda text: int(Decimal(text) * 1_000_000)),
        (0.1, "disk_read_min", ("500", "3000"), "disk_read_mbps >= %s", int),
        (0.1, "net_down_min", ("1000", "5000"), "net_down_mbps >= %s", int),
        (0.1, "cpu_cores_min", ("4", "8"), "cpu_millis_per_gpu >= %s", lambda text: int(text) * 1_000),
        (0.1, "ram_gb_min", ("16", "64"), "ram_mb_per_gpu >= %s", lambda text: int(text) * _MIB),
    )
    for likelihood, name, values, sql, argument in asked:
        if chance.random() < likelihood:
            text = chance.choice(values)
            mix.ask(name, text, sql, argument(text))
