"""Constants of instances, with units."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

QUOTE_LIFETIME: Final = timedelta(minutes=10)
QUOTE_HOURS_MAX: Final = 26_280  # three years
NO_UPFRONT_HOURS_MIN: Final = 720  # shorter terms are paid upfront

# The calculator's largest numbers: every exact result stays printable.
ESTIMATE_HOURS_MAX: Final = 262_800  # thirty years
ESTIMATE_GPUS_MAX: Final = 100_000
ESTIMATE_PRICE_MAX: Final = 1_000_000  # of the currency, per GPU and hour
ESTIMATE_STORAGE_MAX: Final = 1_000_000_000
ESTIMATE_PEAK_MAX: Final = 100
ESTIMATE_TIERS_MAX: Final = 100

# A stopped instance's data is kept this long, then released.
RETENTION: Final = timedelta(days=30)

# From the stop request to the kill; nothing later than request + grace is charged, whatever the host says (D7).
STOP_GRACE: Final = timedelta(seconds=10)

# How long a passing state may take before people look at it. Nothing is released by time (D2).
DEADLINES: Final[Mapping[str, timedelta]] = {
    "requested": timedelta(minutes=20),
    "provisioning": timedelta(minutes=20),
    "starting": timedelta(minutes=10),
    "restarting": timedelta(minutes=10),
    "stopping": timedelta(minutes=5),
    "releasing": timedelta(minutes=5),
}

SSH_PORT: Final = 22
JUPYTER_PORT: Final = 8888
TENSORBOARD_PORT: Final = 6006
SSH_USER: Final = "root"

PIDS_PER_GPU: Final = 4096
JUPYTER_TOKEN_BYTES: Final = 24

SAMPLES_KEPT: Final = timedelta(days=7)
METRICS_DEFAULT: Final = timedelta(hours=1)
METRICS_POINTS: Final = 240

SWEEP_BATCH: Final = 500

# The wait list: how many places a person may have, how long each may wait, and how long an ended one stays listed.
WATCHES_AT_MOST: Final = 20
WATCH_SHORTEST: Final = timedelta(hours=1)
WATCH_LONGEST: Final = timedelta(days=30)
WATCH_KEPT: Final = timedelta(days=30)
WATCH_MAX_PRICE_MICROS: Final = 10_000_000_000  # per GPU and hour

# One turn of a watch tries at most this many offers; mail that could not be sent is tried again for this long.
WATCH_OFFERS_TRIED: Final = 20
WATCH_MAIL_TRIED: Final = timedelta(days=1)

# Whose fault each failure is: the host's unless the renter's own program caused it or the market's image is missing.
FAULT_OF: Final[Mapping[str, str]] = {
    "image_missing": "platform",
    "image_pull_timeout": "host",
    "create_failed": "host",
    "start_failed": "host",
    "gpu_not_visible": "host",
    "ssh_silent": "host",
    "gpu_conflict": "host",
    "disk_full": "host",
    "exited": "renter",
    "out_of_memory": "renter",
    "removed": "host",
    "host_restarted": "host",
}
