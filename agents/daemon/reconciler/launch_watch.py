"""Start scripts and readiness checks of the running instances, followed by the agent's loop."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from agents.daemon.engine.exec_interface import ExecInterface
from agents.daemon.engine.interface import Container
from agents.daemon.lib.journal import Entry
from agents.daemon.reconciler.readiness import ReadinessProber
from agents.daemon.reconciler.start_scripts import ScriptExec, StartScripts
from agents.protocol.messages import DesiredInstance, ObservedInstance


class LaunchWatch:
    """Runs the start script once in each accepted run, and its readiness check while it lasts.

    On a simulated host (`scripts` None) a script ends at once, and a check is ready.
    """

    def __init__(self, state: Path, exec_interface: ExecInterface, scripts: ScriptExec | None) -> None:
        self.changed: Callable[[], None] = lambda: None
        self._exec_interface = exec_interface
        self._simulated = scripts is None
        self.scripts = StartScripts(state / "start-scripts", scripts, self._notify)
        self._probers: dict[str, ReadinessProber] = {}
        self._runs: dict[str, str] = {}

    def follow(
        self, containers: Iterable[Container], desired: Mapping[str, DesiredInstance], entries: Mapping[str, Entry]
    ) -> None:
        """Start what belongs to the runs that have passed the acceptance test, and end the rest."""
        runs = {
            item.instance: item
            for item in containers
            if item.status == "running" and _is_accepted(item, entries.get(item.instance, Entry()))
        }
        self._runs = {key: item.started_at for key, item in runs.items()}
        for key, prober in list(self._probers.items()):
            if key not in runs or runs[key].started_at != prober.run:
                self._probers.pop(key).stop()
        for key, item in runs.items():
            wanted = desired.get(key)
            if wanted is not None and wanted.launch is not None and wanted.generation == item.generation:
                self._begin(item, wanted)
        for key in self.scripts.instances() - {item.id for item in desired.values() if item.run != "gone"}:
            self.scripts.drop(key)

    def add_to(self, row: ObservedInstance) -> ObservedInstance:
        """Return the row of a running instance with the states of its script and its check."""
        run, prober = self._runs.get(row.id, ""), self._probers.get(row.id)
        if row.phase != "running" or not run:
            return row
        script = self.scripts.state(row.id, run)
        return replace(row, on_start=script, ready=prober.state if prober is not None else "")

    def stop(self) -> None:
        for prober in self._probers.values():
            prober.stop()

    def _notify(self) -> None:
        self.changed()

    def _begin(self, item: Container, wanted: DesiredInstance) -> None:
        launch = wanted.launch
        if launch is None:
            return
        if launch.on_start:
            self.scripts.begin(item.instance, item.started_at, launch)
        if launch.readiness is not None and item.instance not in self._probers and not self._simulated:
            connect = partial(self._exec_interface.connect, item.instance)
            self._probers[item.instance] = ReadinessProber(
                launch.readiness, item.started_at, item.run_seconds, connect, self._notify
            )


def _is_accepted(container: Container, entry: Entry) -> bool:
    return entry.accepted == container.generation and entry.accepted_run in ("", container.started_at)
