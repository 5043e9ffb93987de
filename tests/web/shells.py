"""The agent of one instance's host, as far as terminals go: what it would be told, and shells that print a picture."""

from collections.abc import Sequence

from django.conf import settings

from agents.daemon.engine.exec_interface import ExecInterface, Terminal
from instances.core.wakeup_payloads import early_order_key
from instances.models import Instance
from tests.agents.relay.streaming import FakeContainers, Shell, StreamHost

PICTURE = (
    "\x1b[1;32mroot@berth-9f31c2\x1b[0m:\x1b[1;34m~/trainer\x1b[0m# python train.py --epochs 3\r\n"
    "device: NVIDIA GeForce RTX 4090 · 数据集: 图像分类 · \x1b[38;2;255;140;0m24-bit\x1b[0m\r\n"
    "epoch 1/3  \x1b[32m████████████████████\x1b[0m  loss 0.412  acc 0.871\r\n"
    "epoch 2/3  \x1b[33m█████████████\x1b[90m░░░░░░░\x1b[0m  loss 0.297  acc 0.903\r\n"
)


class PrintingContainers(FakeContainers):
    """Shells with something to look at."""

    def terminal(self, instance: str, session: str, size: tuple[int, int]) -> Terminal:
        shell = Shell()
        shell.first = PICTURE.encode()
        self.shells.append(shell)
        return shell

    def hang_up(self, instance: str, keep: Sequence[str]) -> None:
        return None


def host_with_shells(
    instance: Instance, containers: FakeContainers | None = None, exec_interface: ExecInterface | None = None
) -> StreamHost:
    """Linked to the relay as the agent of this instance's host. Its streams are the caller's to stop."""
    made = StreamHost(settings.RELAY_URL, settings.RELAY_SECRET, containers or PrintingContainers(), exec_interface)
    made.id, made.instance = instance.host_id.hex, instance.pk.hex
    made.key = early_order_key(instance.host_id, instance.host.agent_keys).hex()
    made.follow()
    return made
