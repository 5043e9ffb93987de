"""Prepared statements for hot paths: composed once from models, then run with other values.

Django takes longer to compose a statement than PostgreSQL takes to answer it: 0.5–1 ms against 0.2 ms on the machine
where this was measured. A `Prepared` query composes it at its first use and keeps text, converters and populators.
PostgreSQL, too, takes longer to plan a join of four tables than to run it, so each connection prepares a statement
once (`run`).
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import chain
from typing import Any, Final, Generic, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Field, ForeignKey, IntegerField, Model, QuerySet
from django.db.models.expressions import RawSQL
from django.db.models.query import get_related_populators

from common.errors import StaleRow

M = TypeVar("M", bound=Model)

# What each session of the server has prepared so far.
_known: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()

CHANGED: Final = RawSQL("(SELECT count(*) FROM change)", (), output_field=IntegerField())
_NAMED: Final = re.compile(r"%\((\w+)\)s")

_WRITES_TO: Final = re.compile(r'\s*(?:INSERT INTO|UPDATE|DELETE FROM) "?(\w+)')

# The type of values that need no conversion, by the field's internal type.
_PLAIN: Final[Mapping[str, type]] = {
    **dict.fromkeys(("CharField", "TextField"), str),
    **dict.fromkeys(("IntegerField", "PositiveIntegerField", "SmallIntegerField", "PositiveSmallIntegerField"), int),
    **dict.fromkeys(("BigIntegerField", "PositiveBigIntegerField"), int),
    **{"BooleanField": bool, "UUIDField": UUID, "DateTimeField": datetime},
}

# Placeholders for values while the statement is composed; no constant of a query equals any of these.
_STAND_INS: dict[type, Callable[[int], object]] = {
    UUID: lambda number: UUID(int=0xF00D_F00D_F00D_0000 + number),
    str: lambda number: f"\N{REPLACEMENT CHARACTER}{number}",
    int: lambda number: 1_999_999_900 + number,
}


@dataclass(frozen=True)
class _Statement:
    """Composed query; `slots` are (position, name) of the changing values in `parameters`.

    Columns are those by which the ORM would create its objects.
    """

    text: str
    parameters: Sequence[object]
    slots: Sequence[tuple[int, str]]
    model: type[Model]
    names: Sequence[str]
    first: int
    last: int
    converters: dict[int, tuple[Sequence[Callable[..., Any]], Any]]
    related: Sequence[Any]
    annotations: Sequence[tuple[str, int]]


@dataclass(frozen=True)
class _Write:
    """Statement that changes rows.

    With `stale`, it must change one row, or StaleRow is raised with this text.
    """

    statement: str
    values: Sequence[Any]
    stale: str = ""


# Writes of a block of `batched_writes()` until its end; None outside of one.
_waiting: ContextVar[list[_Write] | None] = ContextVar("waiting", default=None)


class Prepared(Generic[M]):
    """Query composed once: `build(**values)` returns the queryset, `kinds` the types of the values.

    Types are UUID, str or int. The structure of the query must not depend on the values: no `in` of a list, no None,
    no slice of varying length. `change` is a statement with named values that changes rows first, in the same round
    trip: the query sees the rows as they were before, and their number as `CHANGED`.
    """

    def __init__(self, build: Callable[..., QuerySet[M]], *, change: str = "", **kinds: type) -> None:
        self._build, self._change, self._kinds = build, change, kinds
        self._composed: _Statement | None = None

    def all(self, **values: object) -> list[M]:
        """Return the rows as the queryset would."""
        statement = self._composed or self._compose()
        parameters: list[Any] = list(statement.parameters)
        for position, name in statement.slots:
            parameters[position] = values[name]
        with connection.cursor() as cursor:
            run(cursor, statement.text, parameters)
            return [self._object(statement, list(row)) for row in cursor.fetchall()]

    def first(self, **values: object) -> M | None:
        """Return the first row; the query must have a limit where there may be many."""
        return next(iter(self.all(**values)), None)

    def _compose(self) -> _Statement:
        stand_ins = {name: _STAND_INS[kind](number) for number, (name, kind) in enumerate(self._kinds.items())}
        queryset = self._build(**stand_ins)
        compiler = queryset.query.get_compiler(using=connection.alias)
        text, parameters = compiler.as_sql()
        slots = [(at, name) for at, value in enumerate(parameters) for name, own in stand_ins.items() if value == own]
        if {name for _, name in slots} != set(stand_ins):
            raise ValueError(f"Not every value of {sorted(stand_ins)} reaches the statement: {text}")
        if self._change:
            names = _NAMED.findall(self._change)
            text = f"WITH change AS ({_NAMED.sub('%s', self._change)} RETURNING 1) {text}"
            slots = [*enumerate(names), *((len(names) + at, name) for at, name in slots)]
            parameters = (*names, *parameters)
        chosen = compiler.klass_info["select_fields"]
        first, last = chosen[0], chosen[-1] + 1
        self._composed = _Statement(
            text=text,
            parameters=tuple(parameters),
            slots=slots,
            model=compiler.klass_info["model"],
            names=[column[0].target.attname for column in compiler.select[first:last]],
            first=first,
            last=last,
            converters=compiler.get_converters([column[0] for column in compiler.select]),
            related=get_related_populators(compiler.klass_info, compiler.select, connection.alias),  # type: ignore[call-arg]  # the stubs are Django 6's
            annotations=list(compiler.annotation_col_map.items()),
        )
        return self._composed

    @staticmethod
    def _object(statement: _Statement, row: list[Any]) -> Any:
        for position, (converters, expression) in statement.converters.items():
            for convert in converters:
                row[position] = convert(row[position], expression, connection)
        found: Any = statement.model.from_db(connection.alias, statement.names, row[statement.first : statement.last])
        for populator in statement.related:
            populator.populate(row, found)
        for name, position in statement.annotations:
            setattr(found, name, row[position])
        return found


def run(
    cursor: CursorWrapper, text: str, parameters: Sequence[Any] | dict[str, Any], *, before_the_disk: bool = False
) -> None:
    """Execute a statement that is prepared by name in the server's session at its first use there.

    What a session has prepared survives a rolled-back transaction and ends with the session. `before_the_disk` is
    for a statement that is its own transaction: it returns before the commit is on disk, so a crash of the server
    may undo it.
    """
    _check_free(text)
    names = tuple(parameters) if isinstance(parameters, dict) else None
    name, prepare, execute = _names(text, names)
    known = _known.setdefault(connection.connection, set())
    if name not in known:
        with connection.wrap_database_errors:
            cursor.cursor.execute(prepare)  # bypasses the log of queries, as it is not part of what the caller asked for
        known.add(name)
    cursor.execute(f"SET LOCAL synchronous_commit = off; {execute}" if before_the_disk else execute, parameters)


def insert(row: Model, *, unless_known: bool = False) -> None:
    """Insert a row like `row.save(force_insert=True)`, without composing.

    An automatic key is not read back. With `unless_known`, a row that a unique constraint refuses is skipped.
    """
    statement, columns = _insertion(type(row), row.pk is not None)
    statement += " ON CONFLICT DO NOTHING" if unless_known else ""
    write(statement, [column.value_of(row) for column in columns])
    row._state.adding, row._state.db = False, connection.alias


def write(statement: str, values: Sequence[Any]) -> None:
    """Run a statement that changes rows and returns nothing.

    In a block of `batched_writes()` it waits for the block's end.
    """
    _wait_or_send(_Write(statement, values))


def update(model: type[Model], *, where: dict[str, object], stale: str, **fields: object) -> None:
    """Set plain values in the row whose columns equal `where`, and add one to its `generation`.

    In a block of `batched_writes()` it waits for the block's end.

    Raises:
        StaleRow: there is no such row; `stale` is the error's text.
    """
    statement = _update(model, tuple(fields), tuple(where))
    values: list[Any] = [_prepared_value(model, name, value) for name, value in [*fields.items(), *where.items()]]
    _wait_or_send(_Write(statement, values, stale))


@contextmanager
def batched_writes() -> Iterator[None]:
    """Send the block's inserts, updates and writes as one statement at its end.

    Each round trip costs as much as a small write. An error is raised at the end, when other writes may have
    taken effect: let the transaction roll back. None of the writes sees rows of another. Nothing else in the
    block may touch a table that they write to.

    Raises:
        RuntimeError: another statement in the block touches such a table.
    """
    if _waiting.get() is not None:  # part of an enclosing block
        yield
        return
    waiting: list[_Write] = []
    token = _waiting.set(waiting)
    try:
        with connection.execute_wrapper(_guarded):
            yield
    finally:
        _waiting.reset(token)
    if waiting:
        _send(waiting)


def _wait_or_send(wanted: _Write) -> None:
    if (waiting := _waiting.get()) is not None:
        waiting.append(wanted)
    else:
        _send([wanted])


def _send(writes: Sequence[_Write]) -> None:
    statement = _joined(tuple((own.statement, bool(own.stale)) for own in writes))
    with connection.cursor() as cursor:
        run(cursor, statement, list(chain.from_iterable(own.values for own in writes)))
        moved = [own.stale for own in writes if own.stale]
        if moved:
            for stale, count in zip(moved, cursor.fetchone(), strict=True):
                if count != 1:
                    raise StaleRow(stale)


def _guarded(execute: Callable[..., Any], text: str, parameters: Any, many: bool, context: Any) -> Any:
    _check_free(text)
    return execute(text, parameters, many, context)


def _check_free(text: str) -> None:
    for own in _waiting.get() or ():
        if _table_of(own.statement).search(text):
            raise RuntimeError(
                f"In a block of batched_writes() a write waits for its end, and this touches the same table: {text}"
            )


@cache
def _table_of(statement: str) -> re.Pattern[str]:
    found = _WRITES_TO.match(statement)
    if found is None:
        raise ValueError(f"This statement names no table that it writes to: {statement}")
    return re.compile(rf"\b{found[1]}\b")


def _prepared_value(model: type[Model], name: str, value: object) -> object:
    return model._meta.get_field(name).get_db_prep_save(value, connection)  # type: ignore[union-attr]  # a column


@cache
def _joined(writes: tuple[tuple[str, bool], ...]) -> str:
    """Return one statement for all writes; the numbers of counted rows are its result."""
    if len(writes) == 1 and not writes[0][1]:
        return writes[0][0]
    parts = [f"part_{at} AS ({text}{' RETURNING 1' if counted else ''})" for at, (text, counted) in enumerate(writes)]
    counts = [f"(SELECT count(*) FROM part_{at})" for at, (_, counted) in enumerate(writes) if counted]  # noqa: S608
    return f"WITH {', '.join(parts)} SELECT {', '.join(counts)}"


@cache
def _names(text: str, names: tuple[str, ...] | None) -> tuple[str, str, str]:
    """Return the statement's name, the SQL that prepares it, and the SQL that executes it.

    `names` are those of its values.
    """
    name = f"berth_{hashlib.sha256(f'{names}{text}'.encode()).hexdigest()[:32]}"
    if names is None:
        places = ["%s"] * text.replace("%%", "").count("%s")
        numbered = text % tuple(f"${number}" for number in range(1, len(places) + 1))
    else:
        places = [f"%({own})s" for own in names]
        numbered = text % {own: f"${number}" for number, own in enumerate(names, 1)}
    arguments = f"({', '.join(places)})" if places else ""
    return name, f"PREPARE {name} AS {numbered}", f"EXECUTE {name}{arguments}"


class _Column:
    """One column of an insert.

    A value of its field's own plain type is used as it is, since asking the field is slower.
    """

    def __init__(self, field: "Field[Any, Any]") -> None:
        self._field, self._name = field, field.attname
        own = field.target_field if isinstance(field, ForeignKey) else field
        stamped = getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False)
        self._plain = None if stamped else _PLAIN.get(own.get_internal_type())

    def value_of(self, row: Model) -> object:
        value = getattr(row, self._name)
        if type(value) is self._plain:
            return value
        return self._field.get_db_prep_save(self._field.pre_save(row, add=True), connection)


@cache
def _insertion(model: type[Model], keyed: bool) -> tuple[str, Sequence[_Column]]:
    columns_of = model._meta.local_concrete_fields
    fields = [field for field in columns_of if (keyed or not field.primary_key) and not field.generated]
    names = ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)
    places = ", ".join(["%s"] * len(fields))
    table = connection.ops.quote_name(model._meta.db_table)
    return f"INSERT INTO {table} ({names}) VALUES ({places})", [_Column(field) for field in fields]  # noqa: S608  (names)


@cache
def _update(model: type[Model], fields: tuple[str, ...], where: tuple[str, ...]) -> str:
    def pairs(names: tuple[str, ...]) -> list[str]:
        columns = [model._meta.get_field(name).column for name in names]  # type: ignore[union-attr]  # a column
        return [f"{connection.ops.quote_name(str(column))} = %s" for column in columns]

    table = connection.ops.quote_name(model._meta.db_table)
    sets = ", ".join([*pairs(fields), "generation = generation + 1"])
    return f"UPDATE {table} SET {sets} WHERE {' AND '.join(pairs(where))}"  # noqa: S608  (names of columns)
