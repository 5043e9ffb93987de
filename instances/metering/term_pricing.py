"""Prices of reserved terms: per hour, and in all when one ends early; integers only."""

from billing.pricing.estimates import UPFRONT
from billing.pricing.rates import early_end
from instances.models import Term


def rate_of(term: Term) -> int:
    """Return the price of all GPUs of the term per hour, in micro-units."""
    return term.unit_micros * term.gpu_count


def is_prepaid(term: Term) -> bool:
    return term.payment == UPFRONT


def early_end_micros(term: Term, charged_micros: int) -> int:
    """Return the whole price of a term that ends now, in micro-units.

    It is its use at the price without discount, plus EARLY_END_BPS.
    """
    return early_end(
        charged_micros,
        unit_micros=term.unit_micros,
        list_unit_micros=term.list_unit_micros,
        total_micros=term.total_micros,
    )
