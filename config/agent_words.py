"""What agents say of their work while it goes on, in the reader's language. An agent speaks English, whoever listens."""

from typing import Final

from django import template
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

register = template.Library()

AGENT_WORDS: Final = {
    _("Checking everything that came."),
    _("Comparing the files on both sides."),
    _("Copying."),
    _("Copying the data disk."),
    _("Copying what was installed."),
    _("Loading the program that copies."),
    _("Looking at what is to be sent."),
    _("Making it larger."),
    _("Receiving."),
    _("Saving the root file system."),
    _("Sending."),
    _("Sending the image to the registry."),
    _("This host is simulated: nothing was copied."),
    _("Unpacking what was installed."),
}
_CUT_OFF: Final = "Cut off: "  # and why, in the words of whatever broke


@register.filter
def agent_words(detail: str) -> str:
    """Known sentences translated; whatever else an agent of another version says as it is, marked as English."""
    if detail.startswith(_CUT_OFF):
        return gettext("The line was cut. It is dialled again.")
    return gettext(detail) if detail in AGENT_WORDS else format_html('<span lang="en">{}</span>', detail)
