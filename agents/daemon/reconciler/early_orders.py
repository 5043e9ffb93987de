"""What of a slip may be acted on before the exchange that confirms it: only what is newer than all that was accepted."""

from collections.abc import Mapping

from agents.daemon.lib.journal import Entry
from agents.daemon.lib.sealed_orders import BadSlip, open_slip
from agents.daemon.reconciler.fencing import Verdict, judge
from agents.protocol.messages import DesiredState, WaitAnswer

NOTHING = Verdict([], {}, [])


def judge_slip(answer: WaitAnswer, newest: DesiredState, entries: Mapping[str, Entry]) -> Verdict:
    """At most one accepted instance. What is passed over is no loss: the next exchange tells everything.

    The slip must be the only change since `newest`, else something that it does not know may have overtaken it. And it
    can only bring up a generation that was never accepted: slips may come late, so they must not undo what came before.
    """
    if not answer.slip or newest.frozen or answer.version != newest.version + 1:
        return NOTHING
    try:
        desired = open_slip(newest.slip_key, answer.slip)
    except BadSlip as error:
        return Verdict([], {}, [str(error)])
    if desired.run != "running" or desired.generation <= entries.get(desired.id, Entry()).generation:
        return NOTHING
    return judge([desired], entries)
