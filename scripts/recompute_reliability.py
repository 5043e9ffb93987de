"""Compute hosts' reliability from public ledgers, by docs/reliability.md and without market code.

python scripts/recompute_reliability.py URL/api/v1 [host_… …]   query the market: these hosts, or every host with an offer
python scripts/recompute_reliability.py ledger.json [… .json]   read saved replies of /hosts/{id}/reliability
"""

import json
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.request import urlopen

MICROSECOND = timedelta(microseconds=1)
DAYS_30 = timedelta(days=30)
DAYS_7 = timedelta(days=7)
HOURS_24 = timedelta(hours=24)
MINUTES_5 = timedelta(minutes=5)
YEAR_1970 = datetime(1970, 1, 1, tzinfo=UTC)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def excused_time(ledger: dict[str, Any]) -> list[tuple[datetime, datetime]]:
    """Return maintenance announced at least 24 hours ahead, until its end or its cancellation."""
    found = []
    for each in ledger["maintenance"]:
        start, end = moment(each["starts_at"]), moment(each["ends_at"])
        if each["cancelled_at"]:
            end = min(end, moment(each["cancelled_at"]))
        if start - moment(each["announced_at"]) >= HOURS_24 and start < end:
            found.append((start, end))
    return found


def covered(spans: list[tuple[datetime, datetime]], start: datetime, end: datetime) -> list[tuple[datetime, datetime]]:
    """Return the parts of [start, end) that any span covers, in order and without overlaps."""
    edges = sorted({start, end, *(edge for span in spans for edge in span if start < edge < end)})
    pieces = list(pairwise(edges))
    return [(a, b) for a, b in pieces if any(first <= a and b <= last for first, last in spans)]


def length(pieces: list[tuple[datetime, datetime]]) -> int:
    return sum((end - start) // MICROSECOND for start, end in pieces)


def recompute(ledger: dict[str, Any]) -> int | None:
    """Return the score in millionths; None while too little is known."""
    until = moment(ledger["window"]["until"])
    if (until - YEAR_1970) % MINUTES_5:
        raise ValueError(f"The window ends at {until}, which is no full 5 minutes.")
    start = max(until - DAYS_30, moment(ledger["enrolled_at"]))
    excused = excused_time(ledger)
    outages, moments = [], []
    for event in ledger["events"]:
        at = moment(event["starts_at"])
        if event["kind"] == "outage":
            outages.append((at, moment(event["ends_at"]) if event["ends_at"] else until))
        elif start <= at < until and not any(first <= at < last for first, last in excused):
            moments.append(event["kind"])
    if until - start < timedelta(0):
        return None
    observed = (until - start) // MICROSECOND - length(covered(excused, start, until))
    if observed < HOURS_24 // MICROSECOND:
        return None
    down = covered(outages, start, until)
    lost = sum((b - a) // MICROSECOND - length(covered(excused, a, b)) for a, b in down)
    missing = max(0, DAYS_7 // MICROSECOND - observed)
    good = 10 + sum(start <= moment(text) < until for text in ledger["starts"])
    bad = moments.count("failed_start") + 3 * moments.count("host_fault")
    share = ((observed - lost) * 1_000_000 + missing * 950_000) * good // ((observed + missing) * (good + bad))
    return share // 100 * 100


def fetch(address: str) -> Any:
    with urlopen(address, timeout=30) as reply:  # noqa: S310 the address is typed by the user
        return json.load(reply)


def shown_in_offers(api: str) -> dict[str, float | None]:
    """Return every host with an offer, and the score that its offers show."""
    shown: dict[str, float | None] = {}
    address: str | None = f"{api}/offers?limit=200"
    while address:
        page = fetch(address)
        shown |= {offer["host"]["id"]: offer["reliability"] for offer in page["results"]}
        address = page["next"]
    return shown


def percent(ppm: int | None) -> str:
    return "none" if ppm is None else f"{ppm / 10_000:.2f} %"


def differs(name: str, ledger: dict[str, Any], in_offers: float | str | None = "") -> bool:
    """Print both scores and return whether they differ."""
    mine, theirs = recompute(ledger), ledger["score_ppm"]
    same = mine == theirs and (in_offers == "" or in_offers == (None if mine is None else mine / 1_000_000))
    note = "" if in_offers == "" else f", in its offers {in_offers}"
    print(f"{name}: computed {percent(mine)}, shown {percent(theirs)}{note}{'' if same else '   DIFFERS'}")
    return not same


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 2
    if not arguments[0].startswith(("http://", "https://")):
        saved = [json.loads(Path(name).read_text(encoding="utf-8")) for name in arguments]
        return int(any([differs(ledger["host"]["id"], ledger) for ledger in saved]))
    api, hosts = arguments[0].rstrip("/"), arguments[1:]
    shown: dict[str, Any] = dict.fromkeys(hosts, "") if hosts else shown_in_offers(api)
    return int(any([differs(host, fetch(f"{api}/hosts/{host}/reliability"), number) for host, number in shown.items()]))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
