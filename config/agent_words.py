"""Translation of agents' progress messages, which are always in English, for the reader."""

from django import template
from django.utils.html import conditional_escape
from django.utils.translation import gettext

from agents.gateway.host_words import CUT_OFF, LOADING, LOADING_SAID, PROGRESS_WORDS
from common.host_words import host_says, host_words_shown

register = template.Library()


@register.filter
def agent_words(detail: str) -> str:
    """Translate a known message; show any other text as the host's own words."""
    if detail.startswith(CUT_OFF):
        return gettext("The line was cut. It is dialled again.")
    if loading := LOADING_SAID.fullmatch(detail):
        return gettext(LOADING) % loading.groupdict()
    if detail in PROGRESS_WORDS:
        return gettext(detail)
    return host_words_shown(detail)


@register.filter
def host_said(text: str) -> str:
    """Show text that a host's owner or agent wrote as the host's own words."""
    return host_words_shown(host_says(text))


@register.filter
def host_quoted(text: str) -> str:
    """Show text of the market that may quote a host."""
    return host_words_shown(text, otherwise=conditional_escape)
