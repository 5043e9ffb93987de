"""The command `berth-agent`: enrol a machine, run its agent, print a systemd unit, or run a simulated fleet."""

import argparse
import errno
import logging
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from agents.daemon import __version__, assembly
from agents.daemon.config import DEFAULT_STATE, AgentConfig, FolderUnusable, NotEnrolled, load_config
from agents.daemon.enrolment import AlreadyEnrolled, NotTheSameHost, enrol, renew
from agents.daemon.fleet import Fleet, NotSimulated
from agents.daemon.gpus import BadGpuList, parse_gpu_list
from agents.daemon.journal import JournalLost
from agents.daemon.link import LinkError
from agents.daemon.loop import Agent
from agents.daemon.runtime import EngineRefused, EngineSilent
from agents.daemon.unit import unit_text

logger = logging.getLogger("agents.daemon")


_NOT_WRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC)
_FAULTS = (
    *(FolderUnusable, NotEnrolled, AlreadyEnrolled, NotTheSameHost, NotSimulated),
    *(BadGpuList, LinkError, EngineSilent, EngineRefused, JournalLost),
)


def main(arguments: list[str] | None = None) -> int:
    options = build_parser().parse_args(arguments)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except _FAULTS as error:
        print(f"berth-agent: {error}", file=sys.stderr)
        return 1


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="berth-agent", description="Rents this machine's GPUs out on a Berth market.")
    parser.add_argument("--version", action="version", version=f"berth-agent {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_enrol(commands.add_parser("enrol", help="make this machine a host, with a one-use token"))
    _add_run(commands.add_parser("run", help="run the agent of an enrolled host"))
    _add_state(_command(commands.add_parser("install", help="print a systemd unit"), _install))
    _add_state(_command(commands.add_parser("fleet", help="run every simulated host in the subfolders"), _fleet))
    return parser


def _command(parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
    parser.set_defaults(run=run)
    return parser


def _add_state(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state-dir", type=Path, default=DEFAULT_STATE, help="default: %(default)s")


def _add_enrol(parser: argparse.ArgumentParser) -> None:
    _command(parser, _enrol)
    _add_state(parser)
    parser.add_argument("--url", required=True, help="the market's address")
    parser.add_argument("--token", required=True, help="one-use token from the host owner's panel")
    parser.add_argument("--runtime", choices=["docker", "simulated"], default="docker")
    parser.add_argument(
        "--simulate-gpus", default="", metavar='"RTX 4090:4"', help="development alone; marked so everywhere"
    )
    parser.add_argument(
        "--new-key", action="store_true", help="the folder's host again, under a new key, after its last was revoked"
    )
    parser.add_argument("--address", default="", help="where renters reach published ports; default: found out")
    parser.add_argument("--behind-nat", action="store_true", help="nobody reaches this machine: renters come by the relay")
    parser.add_argument("--listen", default=AgentConfig.listen, help="address to publish ports on; default: %(default)s")
    parser.add_argument(
        "--ports",
        type=_port_range,
        default=(AgentConfig.port_first, AgentConfig.port_last),
        metavar="FIRST-LAST",
        help=f"for instances; default: {AgentConfig.port_first}-{AgentConfig.port_last}",
    )
    parser.add_argument("--network-pool", default=AgentConfig.network_pool, help="for instances; default: %(default)s")
    parser.add_argument("--local-images", action="store_true", help="never pull an image")
    parser.add_argument("--sparse-disks", action="store_true", help="data disks take space as they fill, not at once")


def _add_run(parser: argparse.ArgumentParser) -> None:
    _command(parser, _run)
    _add_state(parser)
    parser.add_argument("--local-images", action="store_true", help="never pull an image")
    parser.add_argument("--once", action="store_true", help="one exchange and its work, then end")


def _port_range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    if not (first.isdecimal() and last.isdecimal() and 1024 <= int(first) <= int(last) <= 65535):  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"{text!r} is not FIRST-LAST between 1024 and 65535")
    return int(first), int(last)


def _enrol(options: argparse.Namespace) -> int:
    if options.new_key:
        reply = renew(options.state_dir, options.url, options.token)
        print(f"{reply.name} ({reply.host_id}) has a new key; now: berth-agent run --state-dir {options.state_dir}")
        return 0
    parse_gpu_list(options.simulate_gpus)
    wanted = AgentConfig(
        url=options.url,
        runtime=options.runtime,
        simulate_gpus=options.simulate_gpus,
        address=options.address,
        behind_nat=options.behind_nat,
        listen=options.listen,
        port_first=options.ports[0],
        port_last=options.ports[1],
        network_pool=options.network_pool,
        local_images=options.local_images,
        # Simulated GPUs mean a development machine: its disk is not set aside for renters.
        sparse_disks=options.sparse_disks or bool(options.simulate_gpus),
    )
    reply = enrol(options.state_dir, wanted, options.token)
    print(f"enrolled as {reply.name} ({reply.host_id}); now: berth-agent run --state-dir {options.state_dir}")
    return 0


def _run(options: argparse.Namespace) -> int:
    config = load_config(options.state_dir)
    if options.local_images:
        config = replace(config, local_images=True)
    if config.simulated:
        what = "containers and GPUs" if config.runtime == "simulated" else "GPUs"
        logger.warning("SIMULATED: the %s of this host are not real", what)
    agent = _build(options.state_dir, config)
    logger.info("host %s (%s), runtime %s, market %s", config.name, config.host_id, config.runtime, config.url)
    if options.once:
        agent.run_once()
        return 0
    _stop_on_signals(agent.stop)
    agent.run()
    return 0


def _build(state: Path, config: AgentConfig) -> Agent:
    try:
        return assembly.build_agent(state, config)
    except OSError as error:
        if error.errno not in _NOT_WRITABLE:
            raise
        raise FolderUnusable(f"The agent's folder {state} cannot be written: {error.strerror}.") from error


def _install(options: argparse.Namespace) -> int:
    print(unit_text(options.state_dir), end="")
    return 0


def _fleet(options: argparse.Namespace) -> int:
    fleet = Fleet(options.state_dir)
    _stop_on_signals(fleet.stop)
    fleet.run()
    return 0


def _stop_on_signals(stop: Callable[[], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop())


if __name__ == "__main__":
    sys.exit(main())
