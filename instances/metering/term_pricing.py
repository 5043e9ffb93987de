"""What a reserved term costs by the hour, and in all when it ends early. Integers alone."""

from billing.pricing.estimates import UPFRONT
from billing.pricing.rates import early_end
from instances.models import Term


def rate_of(term: Term) -> int:
    """Of all its GPUs, per hour."""
    return term.unit_micros * term.gpu_count


def is_prepaid(term: Term) -> bool:
    return term.payment == UPFRONT


def early_end_micros(term: Term, charged_micros: int) -> int:
    """What a term costs that ends now, in all: its use at the price without the discount, plus EARLY_END_BPS."""
    return early_end(
        charged_micros,
        unit_micros=term.unit_micros,
        list_unit_micros=term.list_unit_micros,
        total_micros=term.total_micros,
    )
