"""Requirements of self-test checks, in the reader's language; results store the English text that the API shows."""

import re
from typing import Final

from django import template
from django.utils.translation import gettext_lazy as _

from common.messages.message import Words

register = template.Library()

_FORMS: Final[tuple[tuple[str, Words], ...]] = (
    (r"at least (?P<figure>\S+ MiB) of (?P<size>\S+ GB)", _("at least %(figure)s of %(size)s")),
    (r"at least (?P<figure>\S+ TFLOPS), half of (?P<full>\S+)", _("at least %(figure)s, half of %(full)s")),
    (r"at least (?P<figure>\S+( \S+)?) ?", _("at least %(figure)s")),
    (r"at most (?P<figure>\S+( \S+)?) ?", _("at most %(figure)s")),
    (r"(?P<count>\d+), as enrolled", _("%(count)s, as enrolled")),
    (r"no figure in the catalogue", _("no figure in the catalog")),
)
_KNOWN: Final = tuple((re.compile(form), words) for form, words in _FORMS)


@register.filter
def requirement_message(text: str) -> str:
    """Return a requirement in the active language; one from an agent is returned unchanged."""
    for form, words in _KNOWN:
        if found := form.fullmatch(text):
            return str(words) % found.groupdict()
    return text
