"""The fixtures of hosts and funded renters."""

from tests.instances.fixtures import host as host
from tests.instances.fixtures import hours as hours
from tests.instances.fixtures import image as image
from tests.instances.fixtures import rin as rin
