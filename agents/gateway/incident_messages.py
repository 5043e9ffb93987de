"""What incidents about agents say to staff. `common.messages` says how messages are kept and worded."""

from django.utils.translation import gettext_lazy as _

from common.messages.message import Message


class TwoAgentsSeen(Message, code="two_agents_seen", text=_("Two agents use the identity of this host.")):
    pass


class TwoAgentsToResolve(
    Message,
    code="two_agents_to_resolve",
    text=_(
        "Two agents use the identity of this host: its state folder was copied, or its key was leaked. Remove the copy, or"
        " revoke the key and add the host again. Restart the remaining agent, which is refused until then, and unfreeze"
        " the host."
    ),
):
    pass


class EpochAhead(
    Message,
    code="epoch_ahead",
    text=_(
        "The agent reports that it accepted epoch %(theirs)s; Berth is at %(ours)s. If other hosts report the same, the"
        " database was restored from an older backup without a new epoch: run %(command)s. If"
        " only this host does, don't trust it: revoke its key and add the host again."
    ),
):
    theirs: int
    ours: int
    command: str


class EpochImpossible(
    Message,
    code="epoch_impossible",
    text=_(
        "The agent reports that it accepted epoch %(theirs)s, but Berth is only at %(ours)s and never started that epoch."
        " Don't start it: revoke the host's key and add the host again."
    ),
):
    theirs: int
    ours: int
