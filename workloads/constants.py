"""Limits of workloads."""

from typing import Final

TEMPLATES_AT_MOST: Final = 100  # per owner
VERSIONS_AT_MOST: Final = 200  # per template
README_BYTES: Final = 64 * 1024
INPUTS_AT_MOST: Final = 30
CHOICES_AT_MOST: Final = 50
INPUT_CHARS: Final = 2000
FILTER_CHARS: Final = 500  # the longest search line that the market reads
DOCKER_RUN_CHARS: Final = 32 * 1024
SLUG_PATTERN: Final = r"[a-z0-9](?:[a-z0-9-]{0,58}[a-z0-9])?"
VERSION_CHARS: Final = 12  # of the content's hash, in names such as pytorch@0123456789ab
