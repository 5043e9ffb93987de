"""Validation of an early order received with a wake-up, before the next sync confirms it."""

from collections.abc import Mapping

from agents.daemon.lib.journal import Entry
from agents.daemon.lib.sealed_orders import BadSlip, open_slip
from agents.daemon.reconciler.fencing import Verdict, judge
from agents.protocol.messages import DesiredState, WaitAnswer

NOTHING = Verdict([], {}, [])


def judge_slip(answer: WaitAnswer, newest: DesiredState, entries: Mapping[str, Entry]) -> Verdict:
    """Return a verdict with at most one accepted instance; the next sync brings whatever is ignored here.

    The order must be the only change since `newest`, since an unknown change may have superseded it. And it can
    only start a generation that was never accepted: orders may arrive late, so they must not undo what came before.
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
