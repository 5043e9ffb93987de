"""The commands by which a machine's owner looks after it: doctor, self-test, uninstall and upgrade."""

import argparse
import sys
from pathlib import Path
from typing import Any

from agents.daemon.config import DEFAULT_STATE, AgentConfig, is_enrolled, load_config
from agents.daemon.doctor import examine
from agents.daemon.findings import as_json, as_text, exit_code


def add_owner_commands(commands: Any) -> None:
    """`commands` are argparse's subparsers."""
    doctor = _added(commands, "doctor", "look for what keeps this machine from being a host", _doctor)
    doctor.add_argument("--url", default="", help="the market's address, before enrolment")
    doctor.add_argument("--ports", type=port_range, default=None, metavar="FIRST-LAST", help="for instances")
    doctor.add_argument("--json", action="store_true", help="for programs")


def port_range(text: str) -> tuple[int, int]:
    """Raises ArgumentTypeError."""
    first, _, last = text.partition("-")
    if not (first.isdecimal() and last.isdecimal() and 1024 <= int(first) <= int(last) <= 65535):  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"{text!r} is not FIRST-LAST between 1024 and 65535")
    return int(first), int(last)


def _added(commands: Any, name: str, said: str, run: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=said)
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
