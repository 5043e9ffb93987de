"""Why work on a host came to nothing, where the host itself gives no reason."""

from django.utils.translation import gettext_lazy as _

from common.messages.message import Message


class HostIsLost(Message, code="host_is_lost", text=_("The host did not come back and was written off.")):
    pass


class OutOfTime(Message, code="out_of_time", text=_("It took too long.")):
    pass


class NotSaved(Message, code="not_saved", text=_("The image was not saved.")):
    pass


class NoAnswer(Message, code="no_answer", text=_("The host did not answer.")):
    pass


class OutputUnreadable(
    Message, code="output_unreadable", text=_("The output can't be decrypted: it was stored under another secret key.")
):
    pass
