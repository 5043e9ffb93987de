"""Rules of the money, with their units."""

from datetime import timedelta

HOLD_HOURS = 1
"""Hours of use that are held at rent and at each renewal of the hold."""

PLATFORM_FEE_BPS = 1000
"""The platform's part of each charge, in hundredths of a percent."""

PROOF_BRIDGE = timedelta(seconds=120)
"""Two proofs at most this far apart prove the time between them; a longer gap is never charged."""

HOLD_RENEWAL_LEAD = timedelta(seconds=60)
"""A hold is renewed this long before it is used up."""

FUNDED_AT_MOST = timedelta(days=36_500)
"""How far ahead a hold is reckoned to last when the rate is zero or next to nothing."""

SETTLE_BATCH = 5_000
"""Meters settled in one transaction: it holds the platform's wallet, so it must stay short."""

SETTLE_AT_MOST = 100_000
"""Meters that one pass of the sweep takes on; the next pass goes on from there."""

CLOCK_TOLERANCE = timedelta(seconds=5)
"""A period may end this much after the auditor's clock before it counts as charged in advance."""

INSTANCE_SOURCE = "instance"
GRANT_SOURCE = "grant"
WATCH_SOURCE = "watch"
"""A place in the wait list: its money waits for an order and is never metered."""

CREDITED_SPAN = timedelta(hours=1)
"""When the host's fault ends a run, this much of its end is given back: the whole run where it was shorter."""
