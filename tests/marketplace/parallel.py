"""Work done by many threads at once, each on its own database connection."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connection

PATIENCE_S = 30


def at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    """`work(n)` in `count` threads that begin together; what each returned or raised."""
    start = Barrier(count)

    def one(number: int) -> Any:
        try:
            connection.ensure_connection()
            start.wait(PATIENCE_S)
            return work(number)
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def in_background(pool: ThreadPoolExecutor, work: Callable[[], Any]) -> Any:
    def one() -> Any:
        try:
            return work()
        finally:
            connection.close()

    return pool.submit(one)
