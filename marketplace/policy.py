"""The market's constants, with units."""

from datetime import timedelta

JOIN_TOKEN_LIFETIME = timedelta(minutes=15)

# A host whose agent has not reported for this long is silent: nothing new is leased on it, its leases stay (D2).
HOST_SILENT_AFTER = timedelta(seconds=60)

# An engine that has not answered for this long takes no new rents (fault 28); its agent still reports.
ENGINE_SLOW_AFTER_S = 60.0

# D6: this share of hosts falling silent together is our fault, not theirs. "Together" is measured over a window, since
# agents report at different seconds and a dead network takes them away a few at a time.
BREAKER_SHARE = 0.30
BREAKER_HOSTS = 3
BREAKER_WINDOW = timedelta(minutes=5)

# A sixteenth of the memory stays with the host's own system, engine and agent.
HOST_RAM_RESERVE_DIVISOR = 16

FREE_DATA_DISK_GB = 50

# Steps of the tiered mode where a host owner has set none: (hours of continuous use, basis points off).
DEFAULT_TIERS = ((720, 1500),)

MAX_GPUS_PER_HOST = 64
PAGE_SIZE = 50
PAGE_SIZE_MAX = 200
HOST_EVENTS_SHOWN = 20
