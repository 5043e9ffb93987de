"""Fields for typed input: whole numbers, amounts and shares as plain decimals, names, days."""

from datetime import date
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from common.money import is_plain_decimal
from common.printable import normalize_text, validate_name

_FIRST_YEAR: Final = 2000
_LAST_YEAR: Final = 2999
_AMOUNT: Final = r"^[0-9]{1,9}(\.[0-9]{1,6})?$"


def parse_whole_number(text: str, *, most: int) -> int | None:
    """Return a whole number up to `most`, or None; Python refuses to read thousands of digits."""
    digits = text.isascii() and text.isdecimal() and len(text) <= len(str(most))
    return int(text) if digits and int(text) <= most else None


class DecimalInput(forms.TextInput):
    """Input for amounts and shares, with digits on a phone's keyboard.

    A browser's own number field writes warnings to its console.
    """

    def __init__(self) -> None:
        super().__init__(attrs={"inputmode": "decimal", "autocomplete": "off"})


class PlainDecimalField(forms.DecimalField):
    """Form field of a decimal number; surrounding spaces are ignored."""

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and value.strip() and not is_plain_decimal(value.strip()):
            raise forms.ValidationError(_("Enter a number, such as 12.50."), code="invalid")
        return super().to_python(value)


class AmountText(serializers.RegexField):
    """Serializer field of a non-negative amount of money; it stays a text, which `parse_money` reads."""

    def __init__(self, **options: Any) -> None:
        super().__init__(_AMOUNT, trim_whitespace=False, **options)


class NameText(serializers.CharField):
    """Serializer field of a name or another short line that others are shown."""

    default_validators = [validate_name]  # noqa: RUF012  (as REST framework declares it)

    def to_internal_value(self, data: Any) -> str:
        return normalize_text(super().to_internal_value(data))


class NameField(forms.CharField):
    """Form field of a name or another short line that others are shown."""

    default_validators = [validate_name]  # noqa: RUF012  (as Django declares it)

    def to_python(self, value: Any) -> Any:
        return normalize_text(super().to_python(value) or "")


def validate_calendar_day(day: date) -> None:
    """Validate a day, excluding those at the ends of the calendar, around which days cannot be computed."""
    if not _FIRST_YEAR <= day.year <= _LAST_YEAR:
        span = {"first": _FIRST_YEAR, "last": _LAST_YEAR}
        raise ValidationError(_("Choose a date between %(first)s and %(last)s."), code="invalid", params=span)


class DayText(serializers.DateField):
    """Serializer field of a day."""

    def __init__(self, **options: Any) -> None:
        super().__init__(validators=[validate_calendar_day], **options)


class DayField(forms.DateField):
    """Form field of a day."""

    default_validators = [validate_calendar_day]  # noqa: RUF012  (as Django declares it)
    widget = forms.DateInput(attrs={"type": "date"})
