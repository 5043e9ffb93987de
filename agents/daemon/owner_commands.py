"""Commands for the machine's owner: doctor, self-test, leftovers, upgrade and uninstall."""

import argparse
import re
import signal
import sys
from pathlib import Path
from typing import Any

from agents.daemon.doctor.findings import as_json, as_text, exit_code
from agents.daemon.doctor.machine import examine
from agents.daemon.engine.interface import EngineRefused, EngineSilent
from agents.daemon.installation.leftovers import NotRemoved, list_leftovers, remove_leftovers
from agents.daemon.installation.releases import NotInstalled, NotManaged, Releases, Versions, own_prefix
from agents.daemon.installation.service import start_service, stop_service
from agents.daemon.installation.uninstall import StillInUse, is_removed, uninstall
from agents.daemon.installation.upgrade import DEADLINE_S, RolledBack, Upgrade, UpgradeInProgress
from agents.daemon.lib.config import DEFAULT_STATE, AgentConfig, is_enrolled, load_config
from agents.daemon.lib.state_folder import folder_lock
from agents.daemon.local_self_test import as_line, own_checks
from agents.protocol.release import BadRelease

OWNER_COMMAND_ERRORS = (StillInUse, NotRemoved, BadRelease, NotInstalled, NotManaged, RolledBack, UpgradeInProgress)


def add_owner_commands(commands: Any) -> None:
    """Add the commands; `commands` are argparse's subparsers."""
    doctor = _add_command(commands, "doctor", "look for what keeps this machine from being a host", _doctor)
    doctor.add_argument("--url", default="", help="the market's address, before enrolment")
    doctor.add_argument("--ports", type=port_range, default=None, metavar="FIRST-LAST", help="for instances")
    doctor.add_argument("--json", action="store_true", help="for programs")
    _add_command(commands, "self-test", "make the checks of the self-test here and show them", _self_test)
    kept = _add_command(commands, "leftovers", "list what instances in quarantine have left here", _leftovers)
    kept.add_argument("--remove", type=instance_id, default=None, metavar="INSTANCE", help="delete what this one has left")
    newer = _add_command(
        commands, "upgrade", "install the market's newest agent, and go back when it does not work", _upgrade
    )
    newer.add_argument("--release-key", type=release_key, default=None, help="64 hex digits, where enrolment gave none")
    newer.add_argument("--older", action="store_true", help="even if the market's version is older than this one")
    newer.add_argument("--deadline", type=float, default=DEADLINE_S, metavar="SECONDS", help="default: %(default)s")
    leave = _add_command(commands, "uninstall", "take the agent and all that it made off this machine", _uninstall)
    leave.add_argument("--force", action="store_true", help="also what renters have here: it is lost")


def port_range(text: str) -> tuple[int, int]:
    """Parse FIRST-LAST.

    Raises:
        ArgumentTypeError: The text is no range of unprivileged ports.
    """
    first, _, last = text.partition("-")
    if not (first.isdecimal() and last.isdecimal() and 1024 <= int(first) <= int(last) <= 65535):  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"{text!r} is not FIRST-LAST between 1024 and 65535")
    return int(first), int(last)


def percent(text: str) -> int:
    """Parse a whole number of percent.

    Raises:
        ArgumentTypeError: The text is none between 1 and 100.
    """
    if not (text.isdecimal() and 1 <= int(text) <= 100):  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of percent between 1 and 100")
    return int(text)


def release_key(text: str) -> str:
    """Check a release key.

    Raises:
        ArgumentTypeError: The text has not 64 hex digits.
    """
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise argparse.ArgumentTypeError("a release key has 64 hex digits")
    return text


def instance_id(text: str) -> str:
    """Parse an instance's id, with or without its prefix.

    Raises:
        ArgumentTypeError: The text is none.
    """
    number = text.removeprefix("inst_").replace("-", "")
    if not re.fullmatch("[0-9a-f]{32}", number):
        raise argparse.ArgumentTypeError(f"{text!r} is no instance's id: 32 hex digits, as `leftovers` lists them")
    return number


def _add_command(commands: Any, name: str, help_text: str, run: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=help_text)
    parser.set_defaults(run=run)
    parser.add_argument("--state-dir", type=Path, default=DEFAULT_STATE, help="default: %(default)s")
    return parser


def _doctor(options: argparse.Namespace) -> int:
    config = load_config(options.state_dir) if is_enrolled(options.state_dir) else None
    kept = (AgentConfig.port_first, AgentConfig.port_last) if config is None else (config.port_first, config.port_last)
    url = options.url or ("" if config is None else config.url)
    findings = list(examine(options.state_dir, config, url, options.ports or kept))
    print(as_json(findings) if options.json else as_text(findings), file=sys.stdout)
    return exit_code(findings)


def _self_test(options: argparse.Namespace) -> int:
    """Run the self-test, even while the agent runs: GPUs that an instance holds are left alone."""
    config = load_config(options.state_dir)
    failed = False
    for check in own_checks(options.state_dir, config):
        print(as_line(check), flush=True)
        failed |= check.passed is False
    return int(failed)


def _leftovers(options: argparse.Namespace) -> int:
    state, config = options.state_dir, load_config(options.state_dir)
    if options.remove:
        return _remove_leftovers(state, config, options.remove)
    found = list_leftovers(state, config)
    for leftover in found:
        print("\n".join([leftover.instance, *(f"  {thing}" for thing in leftover.things or ("nothing any more",))]))
    print("To delete one: berth-agent leftovers --remove INSTANCE" if found else "No instance is in quarantine.")
    return 0


def _remove_leftovers(state: Path, config: AgentConfig, instance: str) -> int:
    """Delete them once the owner has typed the id; the service, if there is one, is stopped only meanwhile."""
    found = next((leftover for leftover in list_leftovers(state, config) if leftover.instance == instance), None)
    if found is None:
        raise NotRemoved(f"{instance} is not in quarantine. `berth-agent leftovers` lists what is.")
    if found.things:
        print("\n".join(["This may be the only copy of a renter's data:", *(f"  {thing}" for thing in found.things)]))
        print("Type the instance's id to delete all of it for good:", flush=True)
        if sys.stdin.readline().strip().removeprefix("inst_").replace("-", "") != instance:
            raise NotRemoved("That was not its id: nothing was deleted.")
    stop_service(state)
    try:
        with folder_lock(state):
            remove_leftovers(state, config, instance)
    finally:
        start_service(state)
    print(f"deleted all that {instance} had left here")
    return 0


def _upgrade(options: argparse.Namespace) -> int:
    config = load_config(options.state_dir)
    key = options.release_key or config.release_key
    if not key:
        raise BadRelease("This host was given no release key: add --release-key, as the market's operator publishes it.")
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the terminal may be closed: the way back must not be left unfinished
    upgrade = Upgrade(options.state_dir, Versions(own_prefix()), deadline_s=options.deadline)
    print(upgrade.run(Releases(config.url, key), older=options.older))
    return 0


def _uninstall(options: argparse.Namespace) -> int:
    state = options.state_dir
    if is_removed(state):
        state.rmdir()
        print(f"removed folder {state}")
        return 0
    config = load_config(state)
    stop_service(state)
    try:
        with folder_lock(state):
            removed = uninstall(state, config, force=options.force)
    except (StillInUse, EngineSilent, EngineRefused):
        start_service(state)  # not uninstalled, so the host goes on
        raise
    print("\n".join(f"removed {line}" for line in removed))
    print("Images that somebody else pulled are left. Now retire the host on My hosts.")
    return 0
