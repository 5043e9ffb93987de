"""Messages in words: for pages, mail and text in the reader's language, for the API in English."""

from datetime import datetime
from enum import Enum
from typing import Any, Final, Protocol

from django import template
from django.utils import dateformat
from django.utils.functional import Promise
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import override, pgettext

from common import clock
from common.mail import name_in_mail
from common.messages.host_text import host_text_in_mail, render_host_text
from common.messages.message import LONGEST_TEXT, English, Message, Micros, Second, Share, stored
from common.money import format_money, with_sign

register = template.Library()

_IN_MAIL: Final = 200


def english(message: Message | None) -> str:
    """Return the English text for scripts and for the column beside the message, cut to the column's length."""
    if message is None:
        return ""
    with override("en"):
        return plain(message)[:LONGEST_TEXT]


def message_fields(message: Message | None, text: str) -> dict[str, Any]:
    """Return a row's fields for the API: `detail` is the message in today's English, `message` is the same as data.

    A row without a message has its column's English `text` alone.
    """
    return {"detail": english(message) if message else text, "message": stored(message)}


class Failed(Protocol):
    """A row that says why something failed."""

    @property
    def failure_code(self) -> str: ...
    @property
    def failure_message(self) -> Message | None: ...
    @property
    def failure_detail(self) -> str: ...


def failure_fields(row: Failed) -> dict[str, Any] | None:
    """Return the API's fields of a failure, or None where nothing failed."""
    if not row.failure_code:
        return None
    return {"code": row.failure_code, **message_fields(row.failure_message, row.failure_detail)}


def columns(text: str, message: Message | None) -> dict[str, Any]:
    """Return the values of a row's two columns: the text, under this name, and the message beside it."""
    message_column = "message" if text == "detail" else f"{text.removesuffix('_detail')}_message"
    return {text: english(message), message_column: message}


def plain(message: Message) -> str:
    """In the active language, for what is no page."""
    return _Plain().render(message)


def in_mail(message: Message) -> str:
    """In the active language; nothing that people or hosts have written becomes a link."""
    return _Mail().render(message)


def in_html(message: Message) -> SafeString:
    """In the active language. What people or hosts have written is escaped, and turns the direction of nothing around it."""
    return mark_safe(_Html().render(message))  # noqa: S308  (each value is escaped)


@register.filter
def said(message: Message | None, text: str) -> SafeString:
    """On a page: the message; without one, its row's own English text."""
    return render_host_text(text) if message is None else in_html(message)


register.filter("in_english", render_host_text)


class _Plain:
    """How each kind of value is worded."""

    def render(self, message: Message) -> str:
        values = {name: self.value(kind, getattr(message, name)) for name, kind in message.kinds.items()}
        values |= {name: self.label(words) for name, words in message.named().items()}
        form: Any = message.text  # a text or a lazy one, which takes the plural that its number has
        return str(form % values)

    def value(self, kind: object, value: Any) -> object:
        if isinstance(value, Message):
            return self.render(value)
        if isinstance(value, tuple):
            return pgettext("between the parts of a message", "; ").join(self.render(part) for part in value)
        if isinstance(value, Enum):
            return self.label(value.label)  # type: ignore[attr-defined]  # choices have labels
        if isinstance(value, datetime):
            return self.moment(value, seconds=kind is Second)
        if kind in (Micros, Share):
            return with_sign(format_money(value)) if kind is Micros else f"{value / 100:g}%"
        return value if isinstance(value, int) else self.own(value)

    def label(self, words: str | Promise) -> str:
        return str(words)

    def moment(self, at: datetime, *, seconds: bool) -> str:
        return moment_label(at, seconds=seconds)

    def own(self, text: str) -> str:
        """Quote what somebody else wrote or named."""
        return text


class _Mail(_Plain):
    def render(self, message: Message) -> str:
        return host_text_in_mail(message.sentence) if isinstance(message, English) else super().render(message)

    def own(self, text: str) -> str:
        return name_in_mail(text, most=_IN_MAIL)


class _Html(_Plain):
    def render(self, message: Message) -> str:
        return render_host_text(message.sentence) if isinstance(message, English) else super().render(message)

    def label(self, words: str | Promise) -> str:
        return conditional_escape(str(words))

    def moment(self, at: datetime, *, seconds: bool) -> str:
        """Return a time element, which the page's script rewrites in the reader's time zone."""
        words, style = super().moment(at, seconds=seconds), "stamp" if seconds else "short"
        return format_html('<time datetime="{}" data-time="{}">{}</time>', f"{at:%Y-%m-%dT%H:%M:%SZ}", style, words)

    def own(self, text: str) -> str:
        return format_html("<bdi>{}</bdi>", text)


def moment_label(at: datetime, *, seconds: bool = False) -> str:
    """Format a time of UTC in the active language, with its year if it is not the present one."""
    this_year = at.year == clock.now().year
    day = pgettext("date format", "j M") if this_year else pgettext("date format", "j M Y")
    time = "H:i:s" if seconds else "H:i"
    return _("%(day)s %(time)s UTC") % {"day": dateformat.format(at, day), "time": dateformat.format(at, time)}
