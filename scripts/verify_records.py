"""Check usage records without the market: `python scripts/verify_records.py KEY.json PAGE.json …`.

KEY.json is /.well-known/berth-ledger-key, each PAGE.json an answer of /api/v1/usage-records. It needs Python 3.10
and the package `cryptography`. It checks each signature, each sum, and that the periods of a meter neither overlap
nor leave a gap. It prints what is wrong, then the totals; the exit status is 1 if anything is wrong.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

Record = dict[str, Any]
MICROSECOND = timedelta(microseconds=1)
HOUR_US = 3_600_000_000
ID_DIGITS = 16


def keys_by_id(published: dict[str, Any]) -> dict[str, Ed25519PublicKey]:
    """Return the present key and its predecessors by id, which is the start of the key's SHA-256."""
    found = {}
    for text in (published["public_key"], *published["former"]):
        raw = bytes.fromhex(text)
        found[hashlib.sha256(raw).hexdigest()[:ID_DIGITS]] = Ed25519PublicKey.from_public_bytes(raw)
    return found


def is_signed(signed: dict[str, Any], key: Ed25519PublicKey | None) -> bool:
    text = json.dumps(signed["record"], sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    try:
        if key is not None:
            key.verify(bytes.fromhex(signed["signature"]), text)
    except (InvalidSignature, ValueError):
        return False
    return key is not None


def wrong_sums(record: Record) -> Iterator[str]:
    """Yield errors in one record's sums.

    Charges are cut at whole hours and rounded at both ends, so they differ from time × rate by one millionth at
    most.
    """
    used = (_moment(record["period_to"]) - _moment(record["period_from"])) // MICROSECOND
    exact = Fraction(used * record["rate_micros"], record["rate_hours"] * HOUR_US)
    if used <= 0 or abs(exact - record["charge_micros"]) > 1:
        yield f"{used / 1_000_000} s at {record['rate_micros']} do not cost {record['charge_micros']}"
    if record["fee_micros"] + record["share_micros"] != record["charge_micros"]:
        yield "fee and share are not the charge"


def broken_chains(records: list[Record]) -> Iterator[str]:
    """Yield gaps and overlaps between a meter's periods; a missing page shows up here too."""
    by_meter: dict[str, list[Record]] = {}
    for record in sorted(records, key=lambda record: str(record["period_from"])):
        by_meter.setdefault(record["meter"], []).append(record)
    for periods in by_meter.values():
        for before, after in pairwise(periods):
            if before["period_to"] != after["period_from"]:
                yield f"usage {after['usage']} begins {after['period_from']}, the one before ends {before['period_to']}"


def main(key_file: str, *pages: str) -> int:
    keys = keys_by_id(_read(key_file))
    found: dict[int, Record] = {}
    wrong = []
    for page in map(_read, pages):
        for signed in page["records"]:
            record = signed["record"]
            faults = [] if is_signed(signed, keys.get(page["key_id"])) else ["its signature does not hold"]
            if found.setdefault(record["usage"], record) != record:
                faults.append("it comes twice, and not alike")
            wrong += [f"usage {record['usage']}: {words}" for words in (*faults, *wrong_sums(record))]
    wrong += broken_chains(list(found.values()))
    print("".join(f"{line}\n" for line in wrong), end="")
    charge, fee = (sum(record[name] for record in found.values()) for name in ("charge_micros", "fee_micros"))
    print(f"{len(found)} records, charged {charge} millionths, of it {fee} to the platform, {len(wrong)} faults")
    return 1 if wrong else 0


def _read(file: str) -> Any:
    return json.loads(Path(file).read_text(encoding="utf-8"))


def _moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
