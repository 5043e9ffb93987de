"""Command `berth-agent`: enrol a machine, run its agent, print a systemd unit, run a simulated fleet."""

import argparse
import logging
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from agents.daemon import __version__
from agents.daemon.control_plane.http_client import LinkError
from agents.daemon.docker_engine.fitness import EngineUnfit
from agents.daemon.docker_engine.host_claim import HostTaken, claimed_by, take_over
from agents.daemon.engine.interface import EngineRefused, EngineSilent
from agents.daemon.enrolment import AlreadyEnrolled, NotTheSameHost, enrol, enrol_again
from agents.daemon.gpu.nvml import BadGpuList, parse_gpu_list
from agents.daemon.host_process import run_host, stop_on_signals
from agents.daemon.installation.service import unit_text
from agents.daemon.lib.config import DEFAULT_STATE, AgentConfig, FolderUnusable, NotEnrolled, load_config
from agents.daemon.lib.journal import JournalLost
from agents.daemon.lib.state_folder import FolderCopied, FolderInUse, adopt, folder_lock
from agents.daemon.owner_commands import OWNER_COMMAND_ERRORS, add_owner_commands, percent, port_range, release_key
from agents.daemon.simulated_fleet import Fleet, NotSimulated
from agents.protocol.log_lines import use_one_line

logger = logging.getLogger("agents.daemon")

_FAULTS = (
    *(FolderUnusable, FolderInUse, FolderCopied, HostTaken, NotEnrolled, AlreadyEnrolled, NotTheSameHost, NotSimulated),
    *(BadGpuList, LinkError, EngineSilent, EngineRefused, EngineUnfit, JournalLost),
    *OWNER_COMMAND_ERRORS,
)


def main(arguments: list[str] | None = None) -> int:
    options = build_parser().parse_args(arguments)
    use_one_line(form="%(asctime)s %(levelname)s %(message)s")
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
    _add_state(_command(commands.add_parser("adopt", help="make a copied folder the host's only one"), _adopt))
    _add_state(_command(commands.add_parser("fleet", help="run every simulated host in the subfolders"), _fleet))
    add_owner_commands(commands)
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
        type=port_range,
        default=(AgentConfig.port_first, AgentConfig.port_last),
        metavar="FIRST-LAST",
        help=f"for instances; default: {AgentConfig.port_first}-{AgentConfig.port_last}",
    )
    parser.add_argument("--network-pool", default=AgentConfig.network_pool, help="for instances; default: %(default)s")
    parser.add_argument("--local-images", action="store_true", help="never pull an image")
    parser.add_argument("--no-prefetch", action="store_true", help="pull no image before an instance needs it")
    parser.add_argument(
        "--image-gc-percent",
        type=percent,
        default=AgentConfig.image_gc_percent,
        metavar="PERCENT",
        help="how full the engine's disk may be before unused images that the agent pulled go; default: %(default)s",
    )
    parser.add_argument("--release-key", type=release_key, default=None, help="64 hex digits: who signs upgrades")
    parser.add_argument("--sparse-disks", action="store_true", help="data disks take space as they fill, not at once")


def _add_run(parser: argparse.ArgumentParser) -> None:
    _command(parser, _run)
    _add_state(parser)
    parser.add_argument("--local-images", action="store_true", help="never pull an image")
    parser.add_argument("--once", action="store_true", help="one exchange and its work, then end")


def _enrol(options: argparse.Namespace) -> int:
    if options.new_key:
        reply = enrol_again(options.state_dir, options.url, options.token)
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
        prefetch_images=not options.no_prefetch,
        image_gc_percent=options.image_gc_percent,
        release_key=options.release_key or "",
        # Simulated GPUs mean a development machine, whose disk should not be reserved for renters.
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
    run_host(options.state_dir, config, once=options.once)
    return 0


def _adopt(options: argparse.Namespace) -> int:
    state, config = options.state_dir, load_config(options.state_dir)
    with folder_lock(state):
        real = config.runtime == "docker"
        place = adopt(state, claimed_by=claimed_by(config.host_id) if real else "")
        if real:
            take_over(config.host_id, place)
    print(f"{state} is the folder of {config.name} ({config.host_id}) now; an agent of another copy ends by itself.")
    return 0


def _install(options: argparse.Namespace) -> int:
    print(unit_text(options.state_dir), end="")
    return 0


def _fleet(options: argparse.Namespace) -> int:
    with folder_lock(options.state_dir):
        fleet = Fleet(options.state_dir)
        stop_on_signals(fleet.stop)
        fleet.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
