"""What the last changes were, of topics that a script waits for: if it comes back a moment later it hears it all."""

from collections import OrderedDict
from typing import Final

TOPICS: Final = 10_000  # the one that was waited for longest ago is forgotten first
CHANGES: Final = 32  # of each topic


class Recent:
    """News by topic and version. It is a hint: whoever is told nothing looks, as without it."""

    def __init__(self) -> None:
        self._topics: OrderedDict[str, dict[int, str]] = OrderedDict()

    def follow(self, topic: str) -> None:
        self._topics.setdefault(topic, {})
        self._topics.move_to_end(topic)
        if len(self._topics) > TOPICS:
            self._topics.popitem(last=False)

    def note(self, topic: str, version: int, news: str = "") -> None:
        """A change of a followed topic; without news it was nothing that is told of, or its news came before."""
        changes = self._topics.get(topic)
        if changes is None:
            return
        changes.setdefault(version, news)
        if len(changes) > CHANGES:
            del changes[next(iter(changes))]

    def between(self, topic: str, since: int, version: int) -> tuple[str, ...] | None:
        """The news of all changes after `since` up to `version`, oldest first; None where not every one of them is known."""
        changes = self._topics.get(topic, {})
        if not 0 < version - since <= len(changes):
            return None
        wanted = range(since + 1, version + 1)
        return tuple(changes[each] for each in wanted if changes[each]) if all(each in changes for each in wanted) else None

    def forget(self) -> None:
        """Redis was lost: what was said meanwhile is not known."""
        self._topics.clear()
