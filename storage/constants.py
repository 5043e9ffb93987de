"""Limits, deadlines and other constants of storage, with units."""

from datetime import timedelta
from typing import Final

VOLUMES_AT_MOST: Final = 50
SNAPSHOTS_AT_MOST: Final = 200
MOUNTS_AT_MOST: Final = 8  # volumes and data sets of one instance together

# A volume or snapshot that nobody pays for is kept this long, then deleted.
UNPAID_KEPT: Final = timedelta(days=30)

# A disk counts as nearly full from this percentage of used blocks or inodes on.
FULL_PERCENT: Final = 90

MAKE_WITHIN: Final = timedelta(minutes=10)
DROP_WITHIN: Final = timedelta(minutes=10)
COPY_WITHIN: Final = timedelta(hours=6)
GROW_WITHIN: Final = timedelta(minutes=10)
CARRY_WITHIN: Final = timedelta(hours=4)  # for a transfer to another host
TICKET_SPARE: Final = timedelta(minutes=5)

# Failure code and detail of operations, volumes and snapshots of a host that was written off.
HOST_WRITTEN_OFF: Final = "host_written_off"

# A name is part of a path in the instance: /mnt/<name> of a volume, /pub/<slug> of a data set.
NAME_PATTERN: Final = r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?"

IMAGES_AT_MOST: Final = 200  # per user
SAVED_ON_HOST_AT_MOST: Final = 5  # saved images per user on one host's disk: each may take as much space as a system disk
REGISTRIES_AT_MOST: Final = 20
IMAGE_BYTES_MAX: Final = 60 * 1000**3  # compressed
# factor of the compressed size on the host's disk; the agent checks the room again before it pulls
IMAGE_UNPACKS_TO: Final = 3
IMAGE_UNPACKED: Final = 40 * 1000**3  # bytes to assume for an unpacked image that is not known to be larger
PREFETCHED_AT_MOST: Final = 10  # official images that each host pulls in advance
# A name that its registry was asked about in this time is rented without asking again.
IMAGE_FRESH: Final = timedelta(minutes=10)
SAVE_WITHIN: Final = timedelta(minutes=60)
DROP_IMAGE_WITHIN: Final = timedelta(hours=6)  # long, since its host may be offline
PULL_KEPT: Final = timedelta(minutes=5)  # how long the progress of a pull is kept after a host's last report of it
LAYERS_SHOWN: Final = 64

CONNECTIONS_AT_MOST: Final = 20  # per user
SYNC_SCHEDULES_AT_MOST: Final = 50
SYNC_WITHIN: Final = timedelta(hours=24)
