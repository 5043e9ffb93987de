"""Fencing of desired state and early orders: what is older than anything accepted before is refused."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agents.daemon.lib.journal import Entry
from agents.daemon.lib.sealed_orders import BadEarlyOrder, decrypt_early_order
from agents.protocol.messages import DesiredInstance, DesiredState, WaitAnswer

_UUID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class FencingResult:
    """Result of fencing. `changes` must be in the journal before anything is done about `accepted`."""

    accepted: list[DesiredInstance]
    changes: dict[str, Entry]
    refused: list[str]
    epoch: int = 0  # to be recorded with the changes; 0: unchanged


def filter_stale(wanted: Sequence[DesiredInstance], entries: Mapping[str, Entry]) -> FencingResult:
    accepted, changes, refused = [], {}, []
    for desired in wanted:
        entry = entries.get(desired.id, Entry())
        if not _UUID.fullmatch(desired.id):
            refused.append(f"{desired.id!r} is no instance id")
        elif desired.fence < entry.fence or desired.generation < entry.generation:
            refused.append(
                f"{desired.id}: fence {desired.fence}, generation {desired.generation} are older than the accepted "
                f"{entry.fence}, {entry.generation}"
            )
        elif entry.run == "gone" and desired.run != "gone" and desired.fence == entry.fence:
            refused.append(f"{desired.id} is gone and cannot come back without another lease")
        else:
            accepted.append(desired)
            # An instance that returns under a higher fence was moved away and back again: nothing of it is left here.
            known = Entry() if entry.run == "gone" and desired.run != "gone" else entry
            fresh = replace(known, fence=desired.fence, generation=desired.generation, run=desired.run, quarantined=False)
            if fresh != entry:
                changes[desired.id] = fresh
    return FencingResult(accepted, changes, refused)


NOTHING_ACCEPTED = FencingResult([], {}, [])


def validate_early_order(answer: WaitAnswer, newest: DesiredState, entries: Mapping[str, Entry]) -> FencingResult:
    """Return a verdict with at most one accepted instance; the next sync brings whatever is ignored here.

    The order must be the only change since `newest`, since an unknown change may have superseded it. And it can
    only start a generation that was never accepted: orders may arrive late, so they must not undo what came before.
    """
    if not answer.slip or newest.frozen or answer.version != newest.version + 1:
        return NOTHING_ACCEPTED
    try:
        desired = decrypt_early_order(newest.slip_key, answer.slip)
    except BadEarlyOrder as error:
        return FencingResult([], {}, [str(error)])
    if desired.run != "running" or desired.generation <= entries.get(desired.id, Entry()).generation:
        return NOTHING_ACCEPTED
    return filter_stale([desired], entries)
