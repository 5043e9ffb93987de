"""This process's copy of the open offers, brought up to date by one small query at each search.

Every row carries the transaction that wrote it last (a trigger stamps it), and every query remembers its snapshot:
the transactions that it could not see yet. The next query reads only their rows. That is exact: a transaction that
commits between two queries is either above the first one's snapshot or in its list of running ones. Deleted rows
leave a row in `marketplace_offer_gone`, stamped in the same way.

Where a copy may have an age, a thread keeps it recent, a step at a time: it queries and reads without the lock, and
delays a search only to write what it read.

What a transaction sees of its own writes may still be rolled back, so such rows are read again every time. Another
server, another database, or transaction numbers that went backwards cause a complete reload.
"""

import io
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
import psycopg2
from django.conf import settings
from django.db import Error, OperationalError, connection
from numpy.typing import NDArray

from marketplace.search.index.binary_layout import SELECT, WORDS, decode, text_of
from marketplace.search.index.column_store import ColumnStore, StoreUpdate, stored, uuids
from marketplace.search.index.dictionary_encoding import UnknownCode
from marketplace.search.index.refresh_thread import Refresher
from marketplace.search.index.sort_orders import NextSortedSlots

_NEVER: Final = 2**62
_LOOK: Final = "SELECT * FROM marketplace_look_at_offers(%s, %s::bigint[])"
_UNSEEN: Final = (
    "(changed_xid >= %(since)s AND changed_xid < pg_snapshot_xmax(pg_current_snapshot())::text::bigint)"
    " OR changed_xid = ANY (%(running)s::bigint[])"
)
_GONE: Final = f"SELECT id, changed_xid FROM marketplace_offer_gone WHERE {_UNSEEN}"  # noqa: S608  (constants)
# Reads the rows under a condition, with these arguments.
Rows = Callable[[str, Mapping[str, Any]], NDArray[Any]]


@dataclass(frozen=True)
class SnapshotCursor:
    """Result of one query for changes, and what the next one has to ask for."""

    server: str
    since: int  # the first transaction that had not started
    running: tuple[int, ...]  # those below it that had not ended, and the requester's own
    own: int | None
    changed: bool
    gone: bool
    at: float  # by the monotonic clock, before the query: its result is no older

    def leads_to(self, later: "SnapshotCursor") -> bool:
        """Return whether the later query reports everything that changed since this one."""
        return later.server == self.server and later.since >= self.since


@dataclass(frozen=True)
class ChangeSet:
    """Changes to write after a query: rows as of that query or later, since they are read after it."""

    look: SnapshotCursor
    gone: Sequence[tuple[bytes | None, int]]  # with the transaction that deleted it; None: all offers
    unproven: frozenset[bytes]  # were asked for by id: those missing in the records are gone
    records: NDArray[Any] | None  # None: nothing had to be read


class MarketSnapshot:
    """The copy; use it under its lock."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.refresher = Refresher(self.refresh)
        self.refused_at = 0.0  # when the database last refused or delayed a search too long, by the monotonic clock
        self.forget()

    def forget(self) -> None:
        self._store: ColumnStore | None = None
        self._last: SnapshotCursor | None = None
        # Rows as the requester's own unfinished transaction left them; None: all of them are deleted in it.
        self._unproven: frozenset[bytes] | None = frozenset()

    def fresh(self) -> ColumnStore:
        """Return the open offers as they are now, or were at most MARKET_MAX_AGE_MS ago."""
        self.refresher.record_search()
        with self._forgotten_if_broken():
            return self._caught_up()

    def refresh(self) -> None:
        """Update the copy beside searches, taking the lock itself; what fails is left to the next search."""
        with self.lock:
            store, last, unproven = self._store, self._last, self._unproven
        if store is None or last is None or unproven != frozenset():
            return
        news = _changes_since(last, frozenset(), _rows)
        if news is None:
            return
        drafted = self._drafted(store, news.records)
        if drafted is None:
            return
        with self.lock, self._forgotten_if_broken():
            if self._store is not store or self._last is not last:
                return
            if not self._write(store, news, *drafted):
                self.forget()

    def _drafted(
        self, store: ColumnStore, records: NDArray[Any] | None
    ) -> tuple[StoreUpdate | None, Mapping[str, NextSortedSlots]] | None:
        """Return the draft to write, or None where texts no longer exist or a search was faster."""
        if records is None:
            return None, {}
        try:
            draft = store.draft(records)
        except UnknownCode:
            with self.lock:
                if self._store is not store or not load_texts(store, records):
                    return None
                store.meet(records)
                draft = store.draft(records)
        with self.lock:
            if self._store is not store or not store.follows(draft):
                return None
            moved = store.moved(draft)
        return draft, store.draft_walks(draft, moved)

    @contextmanager
    def _forgotten_if_broken(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self.forget()  # what is partly written cannot be trusted
            if isinstance(error, Error):
                self.refused_at = time.monotonic()
            raise

    def _caught_up(self) -> ColumnStore:
        store, last, unproven = self._store, self._last, self._unproven
        if store is None or last is None or unproven is None:
            return self._load()
        if not unproven and (time.monotonic() - last.at) * 1_000 < settings.MARKET_MAX_AGE_MS:
            return store
        news = _changes_since(last, unproven, partial(_known_rows, store))
        written = news is not None and self._write(store, news, _prepared(store, news.records), {})
        return store if written and self._unproven is not None else self._load()

    def _load(self) -> ColumnStore:
        while True:
            self.forget()
            first = _query_changes(_NEVER, ())
            self._store = store = ColumnStore()
            rows = partial(_known_rows, store)
            store.put(rows("gpu_free + gpu_spot > 0", {}))
            news = _read(first, _query_changes(first.since, first.running), frozenset(), rows)
            if self._write(store, news, _prepared(store, news.records), {}):
                return store

    def _write(
        self, store: ColumnStore, news: ChangeSet, draft: StoreUpdate | None, walks: Mapping[str, NextSortedSlots]
    ) -> bool:
        """Write changes; return False when the table was emptied: the rows in memory are then not valid."""
        look = news.look
        if any(key is None and xid != look.own for key, xid in news.gone):
            return False
        own = {key for key, xid in news.gone if xid == look.own}
        store.close(key for key, _ in news.gone if key is not None)
        if news.records is not None and draft is not None:
            store.close(news.unproven.difference(news.records["id"].tolist()))
            store.write(draft, walks)
            store.slim()
            own |= set(news.records["id"][news.records["xid"] == (look.own or 0)].tolist())
        self._unproven = None if None in own else frozenset(key for key in own if key is not None)
        self._last = look
        return True


_COPY: Final = MarketSnapshot()


@contextmanager
def open_snapshot() -> Iterator[ColumnStore]:
    """Provide the up-to-date open offers for one search; nothing changes them meanwhile.

    Raises the database's error, also in a search that waited for one that met it: otherwise each waiting search
    would wait for the database again, one after the other.
    """
    asked_at = time.monotonic()
    with _COPY.lock:
        if _COPY.refused_at > asked_at:
            raise OperationalError("a search before this one waited for the table in vain")
        yield _COPY.fresh()


def reset_snapshot() -> None:
    """Drop the copy, so that the next search reads the whole table; until then nothing reads it."""
    _COPY.refresher.stop()
    with _COPY.lock:
        _COPY.forget()


def _changes_since(last: SnapshotCursor, unproven: frozenset[bytes], rows: Rows) -> ChangeSet | None:
    """Return the changes since the last query, or None from a server that does not continue from it."""
    look = _query_changes(last.since, last.running)
    return _read(last, look, unproven, rows) if last.leads_to(look) else None


def _query_changes(since: int, running: Iterable[int]) -> SnapshotCursor:
    at = time.monotonic()
    snapshot, own, server, changed, gone = _run_change_query([since, list(running)])
    _, above, listed = snapshot.split(":")
    not_ended = {int(each) for each in listed.split(",") if each}
    look = SnapshotCursor(server, int(above), (), own, changed, gone, at)
    return replace(look, running=tuple(sorted({*not_ended, *_own(look)})))


def _run_change_query(arguments: Sequence[Any]) -> Any:
    """Run the query for changes.

    On an open connection it bypasses Django, whose check of the connection would double the round trips of a
    search; a dead connection fails here too, and then Django opens a new one.
    """
    direct = connection.connection
    if direct is not None and not connection.in_atomic_block and not connection.queries_logged:
        # A server that ended raises the bare DatabaseError; any other error occurs again in the second query.
        with suppress(psycopg2.DatabaseError, psycopg2.InterfaceError), direct.cursor() as cursor:
            cursor.execute(_LOOK, arguments)
            return cursor.fetchone()
        connection.close()
    with connection.cursor() as cursor:
        cursor.execute(_LOOK, arguments)
        return cursor.fetchone()


def _own(look: SnapshotCursor) -> tuple[int, ...]:
    return () if look.own is None else (look.own,)


def _gone(params: Mapping[str, Any]) -> list[tuple[bytes | None, int]]:
    with connection.cursor() as cursor:
        cursor.execute(_GONE, params)
        return [(None if key is None else stored(key), xid) for key, xid in cursor.fetchall()]


def _read(last: SnapshotCursor, look: SnapshotCursor, unproven: frozenset[bytes], rows: Rows) -> ChangeSet:
    """Return what became visible since `last`."""
    if not (look.changed or look.gone or unproven):
        return ChangeSet(look, (), unproven, None)
    params = {"since": last.since, "running": sorted({*last.running, *_own(look)}), "ids": uuids(unproven)}
    gone = _gone(params) if look.gone else []
    records = rows(f"{_UNSEEN} OR id = ANY (%(ids)s::uuid[])", params) if look.changed or unproven else None
    return ChangeSet(look, gone, unproven, records)


def _rows(where: str, params: Mapping[str, Any]) -> NDArray[Any]:
    """Return the rows under a condition."""
    copied = io.BytesIO()
    with connection.cursor() as cursor, connection.wrap_database_errors:
        query = cursor.mogrify(f"{SELECT} WHERE {where}", params).decode()
        cursor.copy_expert(f"COPY ({query}) TO STDOUT (FORMAT binary)", copied)
    return decode(copied.getbuffer())


def _known_rows(store: ColumnStore, where: str, params: Mapping[str, Any]) -> NDArray[Any]:
    """Return the rows under a condition, with every text in them known to the store.

    A row, and its text, may change between the two statements: then both are read again.
    """
    while True:
        records = _rows(where, params)
        if load_texts(store, records):
            return records


def _prepared(store: ColumnStore, records: NDArray[Any] | None) -> StoreUpdate | None:
    """Return a draft of rows whose texts are known."""
    if records is None:
        return None
    store.meet(records)
    return store.draft(records)


def load_texts(store: ColumnStore, records: NDArray[Any] | None) -> bool:
    """Load the texts of new hashes from the database; return False when one no longer exists."""
    return records is None or all([_learn_column(store, name, records) for name in WORDS])


def _learn_column(store: ColumnStore, name: str, records: NDArray[Any]) -> bool:
    words, column = store.words[name], text_of(name)
    missing = words.missing(records[name])
    if not missing:
        return True
    hashes, first = np.unique(records[name], return_index=True)
    ids = uuids(records["id"][first[np.isin(hashes, missing)]].tolist())
    query = f"SELECT hashtextextended({column}, 0), {column} FROM marketplace_offer WHERE id = ANY (%s::uuid[])"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(query, [ids])
        for hashed, text in cursor.fetchall():
            words.learn(hashed, text)
    return not words.missing(records[name])
