"""Contents of the last changes of topics that scripts wait for, so that none is missed between waits."""

from collections import OrderedDict
from typing import Final

TOPICS: Final = 10_000  # the topic whose last waiter came longest ago is forgotten first
CHANGES: Final = 32  # of each topic


class RecentChanges:
    """News by topic and version; only a hint, since a caller that is told nothing looks for itself."""

    def __init__(self) -> None:
        self._topics: OrderedDict[str, dict[int, str]] = OrderedDict()

    def subscribe(self, topic: str) -> None:
        self._topics.setdefault(topic, {})
        self._topics.move_to_end(topic)
        if len(self._topics) > TOPICS:
            self._topics.popitem(last=False)

    def record(self, topic: str, version: int, news: str = "") -> None:
        """Record a change of a followed topic.

        Without news, either the change has none for waiters, or its news came before.
        """
        changes = self._topics.get(topic)
        if changes is None:
            return
        changes.setdefault(version, news)
        if len(changes) > CHANGES:
            del changes[next(iter(changes))]

    def between(self, topic: str, since: int, version: int) -> tuple[str, ...] | None:
        """Return the news of all changes after `since` up to `version`, oldest first.

        It is None if not all of them are known.
        """
        changes = self._topics.get(topic, {})
        if not 0 < version - since <= len(changes):
            return None
        wanted = range(since + 1, version + 1)
        return tuple(changes[each] for each in wanted if changes[each]) if all(each in changes for each in wanted) else None

    def forget(self) -> None:
        """Forget everything, since changes may have been missed while Redis was unreachable."""
        self._topics.clear()
