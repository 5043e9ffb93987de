"""Estimated time to copy data between hosts, from their measured networks."""

_BITS, _MBIT, _MINUTE = 8, 1_000_000, 60


def transfer_minutes(carried_bytes: int, up_mbps: int | None, down_mbps: int | None) -> int | None:
    """Return about how many minutes a copy takes at these speeds, or None if they are not measured."""
    known = [speed for speed in (up_mbps, down_mbps) if speed]
    return max(1, round(carried_bytes * _BITS / (min(known) * _MBIT) / _MINUTE)) if known else None
