"""Searches in a reader's words."""

from decimal import Decimal

import pytest

from marketplace.search.language.fields import TERMS, Condition, Op
from marketplace.search.messages import TERM_LABELS, condition_text, percent_text_of_ppm


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (Condition("vram", Op.GE, Decimal(24)), "VRAM ≥ 24 GB"),
        (Condition("gpu", Op.EQ, "rtx-4090"), "GPU model: RTX 4090"),
        (Condition("gpu", Op.NE, "rtx-4090"), "GPU model ≠ RTX 4090"),
        (Condition("region", Op.IN, ("eu-west", "北京")), "Region: eu-west, 北京"),
        (Condition("disk", Op.NOT_IN, ("hdd", "ssd")), "Disk ≠ HDD, SSD"),
        (Condition("verified", Op.EQ, True), "Verified"),
        (Condition("simulated", Op.EQ, False), "Not: Simulated"),
        (Condition("price", Op.LE, Decimal("0.50")), "Price per GPU-hour ≤ 0.5 USD"),
        (Condition("reliability", Op.GE, Decimal("0.995")), "Reliability ≥ 99.5%"),
        (Condition("lease_hours", Op.GE, Decimal(720)), "Longest rental ≥ 30 days"),
        (Condition("lease_hours", Op.GT, Decimal("36.5")), "Longest rental > 36.5 h"),
        (Condition("cuda", Op.GE, "12.4"), "CUDA ≥ 12.4"),
        (Condition("count", Op.IN, (Decimal(2), Decimal(4))), "Free GPUs: 2, 4"),
    ],
)
def test_conditions_in_words(condition: Condition, words: str) -> None:
    assert condition_text(condition) == words


def test_every_term_has_words() -> None:
    assert TERM_LABELS.keys() == TERMS.keys()


@pytest.mark.parametrize(("ppm", "text"), [(None, ""), (1_000_000, "100%"), (999_960, "99.99%"), (0, "0%")])
def test_reliability_is_never_rounded_up(ppm: int | None, text: str) -> None:
    assert percent_text_of_ppm(ppm) == text
