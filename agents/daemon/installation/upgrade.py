"""Upgrade of the agent, and the way back if the market does not accept a sync of the new version.

Containers are not touched: neither version stops any. The trial in progress is recorded in the folder
(`upgrade.json`), so that the next upgrade finishes or reverts one that was interrupted.
"""

import fcntl
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from agents.daemon import __version__
from agents.daemon.control_plane.confirming_client import CONFIRMATION_FILE, read_confirmation
from agents.daemon.installation.releases import Releases, Versions
from agents.daemon.installation.service import has_service, restart_service
from agents.daemon.lib.atomic_files import write_atomically
from agents.daemon.lib.state_folder import holder_of
from agents.protocol.release import BadRelease, version_key

TRIAL_FILE: Final = "upgrade.json"
TRIAL_LOCK: Final = "upgrade.lock"
DEADLINE_S: Final = 120.0
LOOK_S: Final = 0.1
BACK_S: Final = 30.0  # seconds; the former version syncs sooner, unless the market is away
BACK_TRIES: Final = 2


class RolledBack(Exception):
    """The new version did not sync with the market, so the old one runs again."""


class UpgradeInProgress(Exception):
    """Another upgrade is running; each would take the other's trial for an interrupted one."""


@contextmanager
def _upgrade_lock(state: Path) -> Iterator[None]:
    with (state / TRIAL_LOCK).open("w") as file:  # no child process inherits it
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UpgradeInProgress("Another upgrade of this host is under way.") from error
        yield


@dataclass(frozen=True)
class _Trial:
    """The former and the new environment."""

    old: str
    new: str


class Upgrade:
    """Upgrade of one host; `deadline_s` is the time for the new version's first accepted sync."""

    def __init__(self, state: Path, versions: Versions, *, deadline_s: float = DEADLINE_S) -> None:
        self._state = state
        self._versions = versions
        self._deadline_s = deadline_s

    def run(self, releases: Releases, *, older: bool = False) -> str:
        """Upgrade and return what was done, in a sentence.

        Whatever is raised, the former version runs, or is installed where no agent ran.

        Raises:
            BadRelease: The release is not signed, or older without `older`.
            LinkError: The market refused, or could not be reached.
            NotInstalled: The installation failed.
            RolledBack: The new version did not sync in time.
            UpgradeInProgress: Another upgrade is running.
        """
        with _upgrade_lock(self._state):
            return self._run(releases, older=older)

    def _run(self, releases: Releases, *, older: bool) -> str:
        self._finish_interrupted()
        release = releases.newest()
        if release.version == __version__:
            return f"Version {__version__} is the market's newest."
        if version_key(release.version) < version_key(__version__) and not older:
            raise BadRelease(
                f"The market's version {release.version} is older than {__version__}; --older takes it all the same."
            )
        new = self._versions.install(release, lambda folder: releases.download(release, folder))
        ran = holder_of(self._state) != 0 or has_service(self._state)
        old = self._versions.current
        self._record_trial(_Trial(str(old), str(new)))
        self._versions.switch(new)
        if not ran:
            self._end_trial()
            return f"Version {release.version} is installed. No agent runs: start it."
        self._try(old, new)
        self._versions.delete_others(old, new)
        return f"Version {release.version} runs; the market has heard it."

    def _try(self, old: Path, new: Path) -> None:
        try:
            self._restart_agent()
            has_synced = self._has_synced(new, self._deadline_s)
        except KeyboardInterrupt:
            has_synced = False
        if has_synced:
            self._end_trial()
        else:
            self._go_back(old)
            raise RolledBack(
                f"The market did not hear the new version within {self._deadline_s:.0f} s: {old.name} runs again and"
                f" containers went on. Its log says why: journalctl -u berth-agent"
            )

    def _finish_interrupted(self) -> None:
        """Finish an interrupted upgrade: keep the new version if it has synced, else go back."""
        try:
            trial = _Trial(**json.loads((self._state / TRIAL_FILE).read_bytes()))
        except (FileNotFoundError, ValueError, TypeError):
            return
        note = read_confirmation(self._state)
        if note is None or note.program != trial.new:
            self._go_back(Path(trial.old))
        self._end_trial()

    def _go_back(self, old: Path) -> None:
        """Go back to the former version; a process that died or dies of the signal is started again."""
        self._versions.switch(old)
        for _ in range(BACK_TRIES):
            self._restart_agent()
            if self._has_synced(old, BACK_S):
                break
        self._end_trial()

    def _restart_agent(self) -> None:
        """Restart the running agent as the selected version; start one if it has died."""
        (self._state / CONFIRMATION_FILE).unlink(missing_ok=True)  # a process keeps its id when it changes its program
        pid = holder_of(self._state)
        if pid > 0:
            os.kill(pid, signal.SIGUSR1)
        elif has_service(self._state):
            restart_service(self._state)
        else:
            command = [str(self._versions.program), "run", "--state-dir", str(self._state)]
            with (self._state / "agent.log").open("ab") as log:
                subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)  # noqa: S603

    def _has_synced(self, program: Path, within_s: float) -> bool:
        """Return whether the market accepts a sync of this program in time."""
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            note, pid = read_confirmation(self._state), holder_of(self._state)
            if note is not None and Path(note.program) == program and note.pid == pid:
                return True
            time.sleep(LOOK_S)
        return False

    def _record_trial(self, trial: _Trial) -> None:
        write_atomically(self._state / TRIAL_FILE, json.dumps(asdict(trial)).encode())

    def _end_trial(self) -> None:
        (self._state / TRIAL_FILE).unlink(missing_ok=True)
