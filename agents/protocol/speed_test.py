"""Speed test between an agent and the control plane: its path, and how much one request may carry."""

from typing import Final

SPEED_PATH: Final = "/agent/v1/speed"  # POST uploads bytes, GET <path>/<count> downloads that many
LARGEST_BYTES: Final = 8 * 1024 * 1024
SERVER_TIME_HEADER: Final = "Berth-Time"  # carries the control plane's clock, in Unix seconds
