"""Recompute the hash chain of an exported ledger: `python scripts/verify_seals.py FILE`.

It needs only Python 3.10. FILE is what `manage.py export_ledger FILE` writes: one JSON array per line.
docs/proof.md describes each array. It prints the number and the head of the last seal, which must be the one that
you know; the exit status is 1 if anything is wrong.
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Row = list[Any]
Found = dict[str, list[tuple[int, bytes]]]
FIRST = "0" * 64
KINDS = ("posting", "entry", "usage")
RECORD = "record"  # its digests are sealed separately; seals from before records existed have none
SHORT = 10


def digest(row: object) -> bytes:
    """Return the SHA-256 of the canonical text: JSON with ", " between items, UTF-8, minimal escapes."""
    return hashlib.sha256(json.dumps(row, ensure_ascii=False).encode()).digest()


def read_links(lines: Iterable[str]) -> Iterator[tuple[Row, Found]]:
    """Yield each seal with the digests of the rows that follow it, by kind."""
    seal: Row | None = None
    found: Found = {}
    for line in lines:
        row = json.loads(line)
        if row[0] == "seal":
            if seal is not None:
                yield seal, found
            seal, found = row, {kind: [] for kind in (*KINDS, RECORD)}
        elif seal is None or row[0] not in found:
            raise SystemExit(f"A line is out of place: {line.strip()[:80]}")
        else:
            found[row[0]].append((row[1], digest(row)))
    if seal is not None:
        yield seal, found


def body_of(found: Found, *kinds: str) -> str:
    """Return the SHA-256 of the digests, kind after kind, each by id."""
    return hashlib.sha256(b"".join(value for kind in kinds for _, value in sorted(found[kind]))).hexdigest()


def check_records(seal: Row, found: Found, records_upto: int) -> list[str]:
    """Return what is wrong with the records under one seal."""
    if len(seal) == SHORT:
        return ["it leaves the records out"] if records_upto or found[RECORD] else []
    after, _until, count, body = seal[SHORT:]
    if after != records_upto:
        return ["its records do not follow those of the seal before"]
    if (count, body) != (len(found[RECORD]), body_of(found, RECORD)):
        return ["its records are not those that were sealed"]
    return []


def check_link(seal: Row, found: Found, number: int, head: str, upto: int) -> list[str]:
    """Return what is wrong with one seal; empty if nothing is."""
    _, own_number, previous, after, until, *counts, body, _sealed_at = seal[:SHORT]
    wrong = []
    if own_number != number or previous != head or after != upto or until <= after:
        wrong.append("it does not follow the seal before")
    if counts != [len(found[kind]) for kind in KINDS]:
        wrong.append(f"it covers {counts} rows, found were {[len(found[kind]) for kind in KINDS]}")
    if body_of(found, *KINDS) != body:
        wrong.append("its rows are not those that were sealed")
    return wrong


def main(path: str) -> int:
    number, head, upto, records_upto, broken = 0, FIRST, 0, 0, 0
    with Path(path).open(encoding="utf-8") as lines:
        for seal, found in read_links(lines):
            number += 1
            for words in (*check_link(seal, found, number, head, upto), *check_records(seal, found, records_upto)):
                print(f"seal {seal[1]}: {words}")
                broken += 1
            head, upto = digest(seal).hex(), seal[4]
            records_upto = seal[SHORT + 1] if len(seal) > SHORT else records_upto
    print(f"{number} seals, postings up to {upto}, head {head}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
