"""The speed test between an agent and the control plane: where it is, and how much one request may carry."""

from typing import Final

SPEED_PATH: Final = "/agent/v1/speed"  # POST takes bytes, GET <path>/<count> gives some
LARGEST_BYTES: Final = 8 * 1024 * 1024
SERVER_TIME_HEADER: Final = "Berth-Time"  # the control plane's clock, in Unix seconds
