"""The fixtures of hosts and funded renters."""

from tests.instances.fixtures import host, hours, image, rin, sign

__all__ = ["host", "hours", "image", "rin", "sign"]
