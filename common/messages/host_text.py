"""Texts by a host (its agent or owner) or a renter, marked as theirs wherever others read them.

A text is marked once, where it arrives (`mark_host_text`), and stored so: pages, mail, logs and the API all show the mark.
No text of a host is ever looked up in the catalogue of translations.
"""

import re
from collections.abc import Callable
from typing import Final

from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from common.mail import name_in_mail
from common.printable import cut_printable

HOST_SAYS: Final = _("The host says: “%(words)s”")
RENTER_SAYS: Final = _("The renter says: “%(words)s”")
LONGEST: Final = 260
"""Characters of a host's own text that are kept: with the mark they fit into the columns of 300."""

_IN_MAIL: Final = 200
_QUOTES: Final = str.maketrans({"“": '"', "”": '"'})
_BEGIN, _END = HOST_SAYS.split("%(words)s")
# A row may have cut the end off; then everything after the mark is the host's.
_SAID: Final = re.compile(f"{re.escape(_BEGIN)}([^“”]*)(?:{re.escape(_END)}|$)")


def mark_host_text(text: str) -> str:
    """Return the marked text as it is stored and sent, in the API's English.

    A text that contains a mark already is marked again, as the host's.
    """
    return _marked(HOST_SAYS, text)


def renter_says(text: str) -> str:
    return _marked(RENTER_SAYS, text)


def own_text(text: str) -> str:
    """Return the words without a mark, as they are stored: one printable line that cannot end the quotation."""
    words = cut_printable(text.translate(_QUOTES), LONGEST + 1)
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1].rstrip()}…"


def in_english(text: str) -> SafeString:
    """Return a text for a page: escaped, and tagged as English whatever the page's language is."""
    return format_html('<span lang="en">{}</span>', text)


def render_host_text(text: str, *, otherwise: Callable[[str], str] = in_english) -> SafeString:
    """Return a text for a page in the reader's language, with a host's words quoted.

    `otherwise` renders the parts around them.
    """
    pieces = _SAID.split(text)  # alternating: the market's text, a host's text, the market's text, …
    shown = (_quoted(piece) if number % 2 else otherwise(piece) for number, piece in enumerate(pieces) if piece)
    return mark_safe("".join(conditional_escape(piece) for piece in shown))  # noqa: S308  (each piece is escaped)


def host_text_in_mail(text: str) -> str:
    """Return a text for mail in the reader's language, with a host's words marked as theirs.

    They contain no link.
    """
    found = _SAID.search(text)
    words = name_in_mail(text if found is None else found.group(1), most=_IN_MAIL)
    return words if found is None else gettext(HOST_SAYS) % {"words": words}


def _marked(form: str, text: str) -> str:
    words = own_text(text)
    return form % {"words": words} if words else ""


def _quoted(words: str) -> str:
    """Return quoted words with an isolated writing direction.

    Right-to-left text then affects nothing around it.
    """
    return mark_safe(gettext(HOST_SAYS) % {"words": format_html("<bdi>{}</bdi>", words)})  # noqa: S308  (the words are escaped)
