"""This process's copy of the open offers, and how it keeps up with the table: one small question at each search.

Every row carries the transaction that wrote it last (a trigger stamps it), and every look remembers its snapshot: the
transactions that it could not see yet. The next look asks for their rows alone. That is exact: a transaction that commits
between two looks is either above the first one's snapshot or in its list of running ones. Deleted rows leave a line in
`marketplace_offer_gone`, stamped the same way.

What a transaction sees of its own writes may still be rolled back, so such rows are read again at every look. Another
server, another database, or a clock of transactions that went backwards make it read everything.
"""

import io
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

import numpy as np
import psycopg2
from django.conf import settings
from django.db import connection
from numpy.typing import NDArray

from marketplace.search.layout import SELECT, WORDS, decode, text_of
from marketplace.search.store import Store

_NEVER: Final = 2**62
_LOOK: Final = "SELECT * FROM marketplace_look_at_offers(%s, %s::bigint[])"
_UNSEEN: Final = (
    "(changed_xid >= %(since)s AND changed_xid < pg_snapshot_xmax(pg_current_snapshot())::text::bigint)"
    " OR changed_xid = ANY (%(running)s::bigint[])"
)
_GONE: Final = f"SELECT id, changed_xid FROM marketplace_offer_gone WHERE {_UNSEEN}"  # noqa: S608  (constants)


@dataclass(frozen=True)
class Look:
    """What one look at the table found out, and what the next one has to ask for."""

    server: str
    since: int  # the first transaction that had not begun
    running: tuple[int, ...]  # those below it that had not ended, and the asker's own
    own: int | None
    changed: bool
    gone: bool
    at: float  # before it was asked, by the monotonic clock: what it found out is no older


class Copy:
    """Use it under its lock."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.forget()

    def forget(self) -> None:
        self._store: Store | None = None
        self._last: Look | None = None
        # Rows as the asker's own unfinished transaction left them; None: all of them are gone in it.
        self._unproven: set[bytes] | None = set()

    def fresh(self) -> Store:
        """The open offers as they are now, or as they were at most MARKET_MAX_AGE_MS ago."""
        try:
            return self._caught_up()
        except BaseException:
            self.forget()  # what is half written down cannot be trusted
            raise

    def _caught_up(self) -> Store:
        store, last = self._store, self._last
        if store is None or last is None or self._unproven is None:
            return self._load()
        if not self._unproven and (time.monotonic() - last.at) * 1_000 < settings.MARKET_MAX_AGE_MS:
            return store
        look = _look(last.since, last.running)
        if look.server != last.server or look.since < last.since:
            return self._load()
        return store if self._follow(store, last, look) and self._unproven is not None else self._load()

    def _load(self) -> Store:
        while True:
            self.forget()
            first = _look(_NEVER, ())
            self._store = store = Store()
            store.put(_records(store, "gpu_free + gpu_spot > 0", {}))
            if self._follow(store, first, _look(first.since, first.running)):
                return store

    def _follow(self, store: Store, last: Look, look: Look) -> bool:
        """Write down what became visible since `last`: rows as they are at `look` or later, since they are read after it.

        False when someone emptied the table meanwhile: the rows in memory are not to be used.
        """
        unproven = self._unproven or set()
        if not (look.changed or look.gone or unproven):
            self._last = look
            return True
        ids = [key.ljust(16, b"\0").hex() for key in unproven]
        asked = {"since": last.since, "running": sorted({*last.running, *_own(look)}), "ids": ids}
        gone = _gone(asked) if look.gone else []
        own_gone = {key for key, xid in gone if xid == look.own}
        if any(key is None and xid != look.own for key, xid in gone):
            return False
        store.close(key for key, _ in gone if key is not None)
        own: set[bytes] = set()
        if look.changed or unproven:
            records = _records(store, f"{_UNSEEN} OR id = ANY (%(ids)s::uuid[])", asked)
            store.close(unproven.difference(records["id"].tolist()))
            store.put(records)
            store.slim()
            own = set(records["id"][records["xid"] == (look.own or 0)].tolist())
        self._unproven = None if None in own_gone else own | {key for key in own_gone if key is not None}
        self._last = look
        return True


_COPY: Final = Copy()


@contextmanager
def searching() -> Iterator[Store]:
    """The open offers, brought up to date, for one search: nothing changes them meanwhile."""
    with _COPY.lock:
        yield _COPY.fresh()


def forget() -> None:
    """Read the table again at the next search."""
    with _COPY.lock:
        _COPY.forget()


def _look(since: int, running: Iterable[int]) -> Look:
    at = time.monotonic()
    snapshot, own, server, changed, gone = _answer([since, list(running)])
    _, above, listed = snapshot.split(":")
    not_ended = {int(each) for each in listed.split(",") if each}
    look = Look(server, int(above), (), own, changed, gone, at)
    return replace(look, running=tuple(sorted({*not_ended, *_own(look)})))


def _answer(arguments: Sequence[Any]) -> Any:
    """The look itself. On an open connection it is asked past Django, whose check that the connection lives would double
    the round trips of a search; a connection that has died shows here as well, and then Django makes a new one.
    """
    direct = connection.connection
    if direct is not None and not connection.in_atomic_block and not connection.queries_logged:
        # A server that ended shows as the bare DatabaseError; whatever else is wrong, the second question says again.
        with suppress(psycopg2.DatabaseError, psycopg2.InterfaceError), direct.cursor() as cursor:
            cursor.execute(_LOOK, arguments)
            return cursor.fetchone()
        connection.close()
    with connection.cursor() as cursor:
        cursor.execute(_LOOK, arguments)
        return cursor.fetchone()


def _own(look: Look) -> tuple[int, ...]:
    return () if look.own is None else (look.own,)


def _gone(asked: Mapping[str, Any]) -> list[tuple[bytes | None, int]]:
    with connection.cursor() as cursor:
        cursor.execute(_GONE, asked)
        return [(None if key is None else stored(key), xid) for key, xid in cursor.fetchall()]


def stored(key: UUID) -> bytes:
    """A UUID as the arrays hold it: numpy's bytes end at the last one that is not zero."""
    return key.bytes.rstrip(b"\0")


def _records(store: Store, where: str, asked: Mapping[str, Any]) -> NDArray[Any]:
    """The rows under a condition, with every word in them known to the store.

    A row may change between the two statements, and its word with it: then both are read again.
    """
    while True:
        copied = io.BytesIO()
        with connection.cursor() as cursor, connection.wrap_database_errors:
            query = cursor.mogrify(f"{SELECT} WHERE {where}", asked).decode()
            cursor.copy_expert(f"COPY ({query}) TO STDOUT (FORMAT binary)", copied)
        records = decode(copied.getbuffer())
        if all([_learn(store, name, records) for name in WORDS]):
            return records


def _learn(store: Store, name: str, records: NDArray[Any]) -> bool:
    """Ask for the words behind hashes that are new; false when one of them could not be had any more."""
    words, column = store.words[name], text_of(name)
    missing = words.missing(records[name])
    if not missing:
        return True
    hashes, first = np.unique(records[name], return_index=True)
    ids = [key.ljust(16, b"\0").hex() for key in records["id"][first[np.isin(hashes, missing)]].tolist()]
    query = f"SELECT hashtextextended({column}, 0), {column} FROM marketplace_offer WHERE id = ANY (%s::uuid[])"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(query, [ids])
        for hashed, text in cursor.fetchall():
            words.learn(hashed, text)
    return not words.missing(records[name])
