"""What a host says in words of its own, on a page."""

from django import template
from django.utils.html import conditional_escape

from common.messages.host_text import mark_host_text, render_host_text

register = template.Library()


@register.filter
def host_said(text: str) -> str:
    """Words that a host's owner or its agent wrote into a field of its own."""
    return render_host_text(mark_host_text(text))


@register.filter
def host_quoted(text: str) -> str:
    """Words of the market's in which a host may be quoted."""
    return render_host_text(text, otherwise=conditional_escape)
