"""Acceptance test of a started container: SSH, the main program, and the leased GPUs."""

import logging
import time

from agents.daemon.engine.interface import SSH_PORT, Container, Runtime
from agents.daemon.engine.ssh_interface import SshGateway
from agents.daemon.lib.errors import Failed
from agents.daemon.reconciler.jobs import Job
from agents.protocol.messages import DesiredInstance

logger = logging.getLogger(__name__)

POLL = 0.01
GPU_PATIENCE = 3.0
ALIVE_POLL = 0.25
OWN_ROOT_PATIENCE_S = 3.0  # seconds that SSH is waited for, in a root that the renter may have changed


class AcceptanceTest:
    """Conditions that a container must meet before it counts as running."""

    def __init__(self, runtime: Runtime, bridge: SshGateway, *, ssh_deadline_s: float, program_s: float) -> None:
        self._runtime = runtime
        self._bridge = bridge
        self._ssh_deadline_s = ssh_deadline_s
        self._program_s = program_s

    def of(self, job: Job, container: str) -> None:
        """Test a container.

        Raises:
            Failed: It does not meet a condition.
            Superseded: The job was cancelled.
        """
        port = dict(job.desired.ports).get(SSH_PORT)
        self._await_gpus(job, container)  # first, before anybody can be inside to change what is checked
        if not job.desired.has_ssh:
            self._await_program(job, container)
        if port is not None:
            self._await_ssh(job, container, port)

    def _await_gpus(self, job: Job, container: str) -> None:
        """Wait until the container sees its GPUs.

        The engine reports "started" a moment before the first process has its own environment.
        """
        deadline = time.monotonic() + GPU_PATIENCE
        while wrong := set(job.desired.gpu_uuids) ^ self._runtime.visible_gpus(container):
            if time.monotonic() > deadline:
                raise Failed("gpu_not_visible", f"Not as leased in the container: {', '.join(sorted(wrong))}.")
            job.check()
            job.cancelled.wait(POLL)

    def _await_ssh(self, job: Job, container: str, port: int) -> None:
        """Wait for SSH; a silent SSH in a root that the renter may have changed is no failure.

        Such an instance runs and is charged. Failed starts are free, so a failure that a renter can cause would
        mean use of the GPUs for nothing, again and again.
        """
        untouched = job.desired.untouched
        patience = self._ssh_deadline_s if untouched else min(self._ssh_deadline_s, OWN_ROOT_PATIENCE_S)
        deadline = time.monotonic() + patience
        look_again = time.monotonic() + ALIVE_POLL
        while not self._ssh_answers(job.desired, port, container):
            job.check()
            now = time.monotonic()
            if now > deadline and not untouched:
                logger.info("SSH of %s does not answer, in a root of its renter's own: it runs", job.desired.id)
                return
            if now > deadline:
                raise Failed("ssh_silent", f"SSH did not answer within {self._ssh_deadline_s:.0f} s.")
            if now > look_again:
                look_again = now + ALIVE_POLL
                self._check_alive(job.desired.id, container)
            job.cancelled.wait(POLL)

    def _ssh_answers(self, desired: DesiredInstance, port: int, container: str) -> bool:
        return self._runtime.ssh_answers(port, container) if desired.has_ssh else self._bridge.answers(desired.id)

    def _await_program(self, job: Job, container: str) -> None:
        """Check for a moment that the program of an image that is not the market's own keeps running."""
        end = time.monotonic() + (0.0 if self._runtime.instant else self._program_s)
        while (found := find_container(self._runtime, job.desired.id, container)) is not None and found.status == "running":
            if time.monotonic() > end:
                return
            job.check()
            job.cancelled.wait(POLL)
        with_code = f" with code {found.exit_code}" if found is not None else ""
        raise Failed("program_ended", f"The image's own program ended at once{with_code}: it has nothing to do that lasts.")

    def _check_alive(self, instance: str, container: str) -> None:
        found = find_container(self._runtime, instance, container)
        if found is None or found.status == "exited":
            code = found.exit_code if found else 0
            raise Failed("start_failed", f"The container ended with code {code} before SSH answered.")


def find_container(runtime: Runtime, instance: str, container: str) -> Container | None:
    """Return the container as it is now; None if it is gone."""
    return next((item for item in runtime.containers(instance) if item.id == container), None)
