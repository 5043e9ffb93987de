"""What agents say of their work while it goes on, in the reader's language. An agent speaks English, whoever listens."""

from django import template
from django.utils.html import conditional_escape
from django.utils.translation import gettext

from agents.gateway.host_words import CUT_OFF, LOADING, LOADING_SAID, PROGRESS_WORDS
from common.host_words import host_says, host_words_shown

register = template.Library()


@register.filter
def agent_words(detail: str) -> str:
    """Known sentences translated; whatever else an agent says, as the host's own words."""
    if detail.startswith(CUT_OFF):
        return gettext("The line was cut. It is dialled again.")
    if loading := LOADING_SAID.fullmatch(detail):
        return gettext(LOADING) % loading.groupdict()
    if detail in PROGRESS_WORDS:
        return gettext(detail)
    return host_words_shown(detail)


@register.filter
def host_said(text: str) -> str:
    """Words that a host's owner or its agent wrote into a field of its own."""
    return host_words_shown(host_says(text))


@register.filter
def host_quoted(text: str) -> str:
    """Words of the market's in which a host may be quoted."""
    return host_words_shown(text, otherwise=conditional_escape)
