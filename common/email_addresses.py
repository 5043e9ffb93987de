"""E-mail addresses without hidden or misleading parts.

They have no quotation marks, and one script in each part of the domain.
"""

import unicodedata
from typing import Any, Final

import idna
from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from common.errors import FieldError, InvalidInput
from common.printable import is_printable

LONGEST: Final = 254  # RFC 5321, section 4.5.3.1.3, without the angle brackets
_LONGEST_LOCAL: Final = 64  # the same, 4.5.3.1.1
_LOCALHOST: Final = "localhost"  # for the demo
_ASCII_FORM: Final = "xn--"
# Scripts that are written together, also with Latin letters in between (UTS 39, "highly restrictive").
_TOGETHER: Final = (
    {"LATIN", "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC"},
    {"LATIN", "CJK", "BOPOMOFO"},
    {"LATIN", "CJK", "HANGUL"},
)
_REFUSALS: Final = {
    "too_long": _("An email address can have at most 254 characters, 64 of them before the @."),
    "hidden_characters": _("Remove spaces, line breaks and invisible characters from the email address."),
    "quoted": _("Remove the quotation marks before the @ sign."),
    "domain": _("Check the part after the @: the domain is not valid or mixes letters that look alike."),
    "invalid": _("Enter an email address, such as name@example.com."),
}


def validate_email_address(text: str) -> None:
    """Validate an address in a form, serializer or model; the error's code says what is wrong."""
    fault = _fault(text)
    if fault:
        raise ValidationError(_REFUSALS[fault], code=fault)


def parse_email(text: str, *, field: str = "email") -> str:
    """Return the address in lower case.

    Raises:
        InvalidInput: it is not acceptable; the error names `field`.
    """
    fault = _fault(text)
    if fault:
        detail = str(_REFUSALS[fault])
        raise InvalidInput(detail, errors=[FieldError(field, fault, detail)])
    return text.lower()


class EmailField(forms.EmailField):
    """Form field of an address; surrounding spaces are ignored."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"max_length": LONGEST, **options})  # the staff panel passes the column's own
        self.validators = [validate_email_address]  # checks the length too


class EmailText(serializers.EmailField):
    """Serializer field of an address."""

    default_validators = [validate_email_address]  # noqa: RUF012  (as REST framework declares it)

    def __init__(self, **options: Any) -> None:
        # Without the validator that the plain field adds, so that one fault is reported once, by its own
        # code.
        super(serializers.EmailField, self).__init__(trim_whitespace=False, **options)


def _fault(text: str) -> str:
    local, at, domain = text.rpartition("@")
    if len(text) > LONGEST or len(local) > _LONGEST_LOCAL:
        return "too_long"
    if not is_printable(text) or any(letter.isspace() for letter in text):
        return "hidden_characters"
    if '"' in local:
        return "quoted"
    try:
        validate_email(f"{local}{at}example.com")  # the local part, without what Django takes for a domain
    except ValidationError:
        return "invalid"
    return "" if _is_domain(domain.lower()) else "domain"


def _is_domain(domain: str) -> bool:
    """Return whether IDNA 2008 accepts the domain, written with full stops only.

    What a browser would show for its ASCII form is checked too.
    """
    if domain == _LOCALHOST:
        return True
    labels = domain.split(".")
    try:
        idna.encode(domain, strict=True)
        shown = [idna.decode(label) if label.startswith(_ASCII_FORM) else label for label in labels]
    except (idna.IDNAError, UnicodeError):
        return False
    return len(labels) > 1 and not labels[-1].isdigit() and all(_is_of_one_script(label) for label in shown)


def _is_of_one_script(label: str) -> bool:
    scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in label if letter.isalpha()}
    return len(scripts) <= 1 or any(scripts <= together for together in _TOGETHER)
