"""Registry of operators by kind of operation."""

from collections.abc import Mapping

from agents.daemon.disks.operation_runner import Operator


def docker_operators() -> Mapping[str, Operator]:
    return {}


def simulated_operators() -> Mapping[str, Operator]:
    """Return the operators of a simulated host, which end at once and touch nothing."""
    return {}
