"""Template filters for money and rates."""

from django import template
from django.utils.translation import gettext_lazy as _

from common.money import MICROS_PER_UNIT, divide_half_up, format_money, with_sign

register = template.Library()

_FINE_PLACES = 4  # so that a running cost is seen to grow
_CENT_MICROS = MICROS_PER_UNIT // 100


@register.filter
def money(micros: int) -> str:
    """Format an exact amount with the currency's sign: a price, a rate, a line of the statement."""
    return with_sign(format_money(micros))


@register.filter
def cost(micros: int) -> str:
    """Format an amount to the cent; less than a cent is "<$0.01"."""
    if 0 < abs(micros) < _CENT_MICROS:
        return f"{'−' if micros < 0 else ''}<{with_sign(format_money(_CENT_MICROS))}"
    return with_sign(format_money(divide_half_up(micros, _CENT_MICROS) * _CENT_MICROS))


@register.filter
def price(micros: int) -> str:
    """Format a price in a list, to a ten-thousandth."""
    step = MICROS_PER_UNIT // 10**_FINE_PLACES
    return money(divide_half_up(micros, step) * step)


@register.filter
def rate_unit(hours: int) -> str:
    """Return what a rate is for, after its slash: "hr", "day", or a number of hours."""
    return str({1: _("hr"), 24: _("day")}.get(hours, f"{hours} {_('h')}"))


@register.filter
def whole_money(micros: int) -> str:
    """Format an amount to choose from, without cents if there are none: "$25"."""
    return money(micros).removesuffix(".00")


@register.filter
def plain_money(micros: int) -> str:
    """Format an amount as a person types it into a field."""
    return format_money(micros)


@register.filter
def as_percent(ppm: int) -> str:
    """Format millionths as a percentage, rounded down to hundredths: 99.996 is not 100."""
    return f"{ppm // 10_000}.{ppm // 100 % 100:02d}%"


@register.filter
def percent_of_bps(bps: int) -> str:
    """Format hundredths of a percent as a percentage without needless places: 1250 is "12.5"."""
    return f"{bps / 100:g}"
