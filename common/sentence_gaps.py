"""The gap between two sentences of a page: a space, except in Chinese, whose full stop brings its own."""

from django import template
from django.utils.translation import get_language

register = template.Library()


@register.simple_tag
def gap() -> str:
    return "" if (get_language() or "en").startswith("zh") else " "
