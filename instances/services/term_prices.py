"""What a reserved term costs by the hour, and in all when it ends early. Integers alone."""

from typing import Final

from billing.estimates import UPFRONT
from common.money import divide_half_up
from instances.models import Term
from instances.policy import EARLY_END_BPS

_BPS: Final = 10_000


def rate_of(term: Term) -> int:
    """Of all its GPUs, per hour."""
    return term.unit_micros * term.gpu_count


def is_prepaid(term: Term) -> bool:
    return term.payment == UPFRONT


def early_end_micros(term: Term, charged_micros: int) -> int:
    """What a term costs that ends now, in all: its use at the price without the discount, plus EARLY_END_BPS.

    Never more than the whole term, never less than what was charged.
    """
    if term.unit_micros == 0:
        return charged_micros
    anew = charged_micros * term.list_unit_micros * (_BPS + EARLY_END_BPS)
    return max(charged_micros, min(divide_half_up(anew, term.unit_micros * _BPS), term.total_micros))
