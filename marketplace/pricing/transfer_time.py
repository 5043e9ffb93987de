"""How long it takes to carry bytes from one host to another, by what was measured of their networks."""

_BITS, _MBIT, _MINUTE = 8, 1_000_000, 60


def minutes_of_way(carried_bytes: int, up_mbps: int | None, down_mbps: int | None) -> int | None:
    """About how long so much takes from a host that sends at `up` to one that takes in at `down`; None: not measured."""
    known = [speed for speed in (up_mbps, down_mbps) if speed]
    return max(1, round(carried_bytes * _BITS / (min(known) * _MBIT) / _MINUTE)) if known else None
