"""Constants of storage, with units."""

from datetime import timedelta
from typing import Final

VOLUMES_AT_MOST: Final = 50
SNAPSHOTS_AT_MOST: Final = 200
MOUNTS_AT_MOST: Final = 8  # volumes and data sets of one instance

# What nobody pays for is kept this long, then deleted.
UNPAID_KEPT: Final = timedelta(days=30)

# Used blocks or inodes from which a disk is nearly full.
FULL_PERCENT: Final = 90

MAKE_WITHIN: Final = timedelta(minutes=10)
DROP_WITHIN: Final = timedelta(minutes=10)
COPY_WITHIN: Final = timedelta(hours=6)
GROW_WITHIN: Final = timedelta(minutes=10)
CARRY_WITHIN: Final = timedelta(hours=4)  # to another host
TICKET_SPARE: Final = timedelta(minutes=5)

# How work ends, and what lay there, when its host was written off.
HOST_WRITTEN_OFF: Final = "host_written_off"
HOST_IS_LOST: Final = "Its host was written off: it did not come back."

# A name is part of a path in the instance: /mnt/<name>, /pub/<slug>.
NAME_PATTERN: Final = r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?"

IMAGES_AT_MOST: Final = 200  # of one user
SAVED_ON_HOST_AT_MOST: Final = 5  # of them on the disk of one host: each may take as much of it as a system disk
REGISTRIES_AT_MOST: Final = 20
IMAGE_BYTES_MAX: Final = 60 * 1000**3  # compressed
IMAGE_UNPACKS_TO: Final = 3  # times its compressed size, on the host's disk; the agent looks again before it pulls
IMAGE_UNPACKED: Final = 40 * 1000**3  # what an image may take there that is not known to be larger
PREFETCHED_AT_MOST: Final = 10  # of the market's own images, which each host pulls before anybody rents
# A name that was read this lately is not read again before a rent.
IMAGE_FRESH: Final = timedelta(minutes=10)
SAVE_WITHIN: Final = timedelta(minutes=60)
DROP_IMAGE_WITHIN: Final = timedelta(hours=6)  # its host may be away
PULL_KEPT: Final = timedelta(minutes=5)  # what a host told of a pull, after it last did
LAYERS_SHOWN: Final = 64

CONNECTIONS_AT_MOST: Final = 20  # of one user
SYNC_SCHEDULES_AT_MOST: Final = 50
SYNC_WITHIN: Final = timedelta(hours=24)
