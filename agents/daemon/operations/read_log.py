"""Log of an instance's container, searched on the host; the last lines are returned."""

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any, Final

from agents.daemon.disks.operation_runner import Operation
from agents.daemon.docker_engine.errors import convert_engine_errors
from agents.daemon.docker_engine.runtime import DockerRuntime
from agents.daemon.engine.interface import Runtime
from agents.daemon.lib.errors import Failed

KIND: Final = "read_log"
ON_START: Final = "on_start"
MOST_LINES: Final = 2_000
MOST_CHARS: Final = 256 * 1024  # of all lines together, so that a report stays small
LONGEST_LINE: Final = 4_000
# Terminal escape sequences for colours and cursor moves, which pages and the database have no use for.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")

Line = tuple[str, str]
# (container, lines wanted or None for all, Unix seconds or None) → the engine's bytes, each line after its time
Source = Callable[[str, int | None, float | None], bytes]


def split_lines(raw: bytes) -> Iterator[Line]:
    """Yield (time, text) for each line.

    Of a line that a program overwrites, such as a progress bar, only the last version counts.
    """
    for line in raw.decode(errors="replace").split("\n"):
        at, _, text = line.partition(" ")
        if at:
            last = _ESCAPES.sub("", text).rstrip("\r").rpartition("\r")[2]
            yield at, _CONTROL.sub("", last)[:LONGEST_LINE]


def last_matching(lines: Iterable[Line], *, q: str, tail: int) -> tuple[list[Line], bool]:
    """Return the last `tail` lines that contain `q`, ignoring case, and whether there are more.

    Their number is reduced until they fit the limit of size.
    """
    wanted, found = q.casefold(), deque[Line](maxlen=tail)
    count = 0
    for line in lines:
        if wanted in line[1].casefold():
            found.append(line)
            count += 1
    size = sum(len(at) + len(text) for at, text in found)
    while size > MOST_CHARS:
        size -= sum(map(len, found.popleft()))
    return list(found), count > len(found)


class LogReader:
    """Operator of `read_log`; args: `instance`, `tail`, `q`, `since` (Unix seconds or empty).

    With `source` "on_start", it is the log of the start script instead of the container's.
    """

    def __init__(self, runtime: Runtime, source: Source, start_log: Callable[[str], bytes] = lambda _instance: b"") -> None:
        self._runtime = runtime
        self._source = source
        self._start_log = start_log

    def __call__(self, operation: Operation) -> Mapping[str, str]:
        args = operation.order.args
        tail, q = min(MOST_LINES, max(1, int(args.get("tail") or MOST_LINES))), args.get("q", "")
        if args.get("source") == ON_START:
            return _answer(self._start_log(args["instance"]), q=q, tail=tail)
        own = self._runtime.containers(args["instance"])
        if not own:
            raise Failed("no_container", "The instance has no container on its host yet.")
        newest = max(own, key=lambda item: item.generation)
        since = float(args["since"]) if args.get("since") else None
        # One line more than wanted shows whether there are more; a search has to read all lines.
        raw = self._source(newest.id, None if q else tail + 1, since)
        operation.check()
        return _answer(raw, q=q, tail=tail)


def _answer(raw: bytes, *, q: str, tail: int) -> Mapping[str, str]:
    lines, cut = last_matching(split_lines(raw), q=q, tail=tail)
    return {"lines": json.dumps(lines, ensure_ascii=False), "cut": "yes" if cut else ""}


def docker_source(runtime: DockerRuntime) -> Source:
    def read(container: str, tail: int | None, since: float | None) -> bytes:
        with convert_engine_errors(), closing(runtime.engine()) as engine:
            options: dict[str, Any] = {} if since is None else {"since": since}
            raw = engine.logs(
                container, stdout=True, stderr=True, timestamps=True, tail="all" if tail is None else tail, **options
            )
            return bytes(raw)

    return read


def simulated_source(container: str, tail: int | None, since: float | None) -> bytes:
    """Return one line that says that the host is simulated."""
    return b"1970-01-01T00:00:00.000000000Z This host is simulated: nothing runs here, so nothing is said.\n"


def log_operators(
    runtime: Runtime, start_log: Callable[[str], bytes]
) -> Mapping[str, Callable[[Operation], Mapping[str, str]]]:
    source = docker_source(runtime) if isinstance(runtime, DockerRuntime) else simulated_source
    return {KIND: LogReader(runtime, source, start_log)}
