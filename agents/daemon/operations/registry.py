"""Which operator carries out which kind of operation on this host."""

from collections.abc import Mapping

from agents.daemon.disks.operation_runner import Operator


def docker_operators() -> Mapping[str, Operator]:
    return {}


def simulated_operators() -> Mapping[str, Operator]:
    """The same kinds on a host that has no containers: they end at once and touch nothing."""
    return {}
