"""Construction of an agent from its state folder."""

import resource
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from agents.daemon.agent import Agent, AgentComponents
from agents.daemon.control_plane.confirming_client import ConfirmingLink
from agents.daemon.control_plane.http_client import Link
from agents.daemon.control_plane.port_check import PortCheck
from agents.daemon.control_plane.speed_test import signed_connection
from agents.daemon.disks.grow import Growth, simulated_growth
from agents.daemon.disks.limited_runtime import LimitedRuntime
from agents.daemon.disks.loop_disks import Disks, LoopDisks, SimulatedDisks
from agents.daemon.disks.operation_runner import Cleanup, Operations, Operator
from agents.daemon.disks.operations import DiskOrders, simulated_orders
from agents.daemon.disks.system_disks import SystemDisks
from agents.daemon.disks.volume_store import LoopVolumes, SimulatedVolumes, Volumes
from agents.daemon.docker_engine.container_spec import OPEN_FILES, EngineOptions, profile_text
from agents.daemon.docker_engine.runtime import DockerRuntime
from agents.daemon.engine.exec_interface import ExecInterface, SimulatedExec
from agents.daemon.engine.image_cache import CACHE_FILE, ImageCache
from agents.daemon.engine.interface import Runtime
from agents.daemon.engine.simulated import SimulatedRuntime
from agents.daemon.engine.ssh_interface import SimulatedSshGateway, SshGateway
from agents.daemon.gpu.benchmark import wipe_gpu
from agents.daemon.gpu.nvml import GpuProbe, NvmlProbe, SimulatedProbe
from agents.daemon.gpu.wipe import GpuWiper
from agents.daemon.lib.config import AgentConfig, load_or_make_key
from agents.daemon.lib.journal import Journal
from agents.daemon.operations import run_command
from agents.daemon.operations.command_records import CommandRecords
from agents.daemon.operations.object_sync import sync_operators
from agents.daemon.operations.read_log import log_operators
from agents.daemon.operations.run_command import CommandRunner
from agents.daemon.operations.save_image import ImageOperations
from agents.daemon.reconciler.access_folder import AccessFolders
from agents.daemon.reconciler.actions import ActionExecutor, Checkpoint, Limits, no_checkpoint
from agents.daemon.reconciler.image_prefetch import ImagePrefetcher
from agents.daemon.reconciler.launch_watch import LaunchWatch
from agents.daemon.self_test.checks import CheckDependencies, host_checks
from agents.daemon.self_test.runner import Checks, SelfTester
from agents.daemon.self_test.simulated_checks import simulated_checks
from agents.daemon.ssh.keys import HostKeys
from agents.daemon.ssh.server import EmbeddedSshGateway, SshRoutedExec
from agents.daemon.streams.stream_server import StreamServer
from agents.daemon.telemetry import host_facts
from agents.daemon.telemetry.sampler import Telemetry
from agents.daemon.transfer.cleanup import TransferCleanup, chain_cleanups, delete_incomplete_files
from agents.daemon.transfer.instance_transfer import transfer_operators
from agents.daemon.transfer.root_export import roots_of
from agents.daemon.transfer.transfer_session import OpenPeer
from agents.daemon.transfer.volume_transfer import VolumeTransfer, simulated_volume_transfers

# A host behind NAT uses ports of the relay.
ANY_PORT, HIGHEST_PORT = 1, 65_535


def build_probe(config: AgentConfig) -> GpuProbe:
    if config.simulated:
        return SimulatedProbe(config.simulate_gpus, config.gpu_seed)
    return NvmlProbe()


def build_runtime(state: Path, config: AgentConfig) -> Runtime:
    if config.runtime == "simulated":
        return SimulatedRuntime(state / "simulated.json")
    # An engine that may not raise limits refuses to start a container above its own limit, which usually equals ours.
    open_files = min(OPEN_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    options = EngineOptions(
        config.host_id,
        config.listen,
        config.network_pool,
        publish=not config.behind_nat,
        seccomp=profile_text(),
        open_files=open_files,
    )
    return LimitedRuntime(options, SystemDisks(state, sparse=config.sparse_disks), state)


def build_disks(state: Path, config: AgentConfig) -> Disks:
    if config.runtime == "simulated":
        return SimulatedDisks()
    return LoopDisks(state, sparse=config.sparse_disks)


def build_volumes(state: Path, config: AgentConfig) -> Volumes:
    if config.runtime == "simulated":
        return SimulatedVolumes()
    return LoopVolumes(state, sparse=config.sparse_disks)


def _disk_operators(
    disks: Disks, volumes: Volumes, config: AgentConfig, checkpoint: Checkpoint, open_peer: OpenPeer
) -> Mapping[str, Operator]:
    if isinstance(disks, LoopDisks) and isinstance(volumes, LoopVolumes):
        growth = Growth(disks, sparse=config.sparse_disks, checkpoint=checkpoint, volumes=volumes.volumes)
        orders = DiskOrders(disks, volumes, sparse=config.sparse_disks, checkpoint=checkpoint)
        volume_transfer = VolumeTransfer(
            volumes.volumes, root=volumes.root, sparse=config.sparse_disks, open_peer=open_peer, checkpoint=checkpoint
        )
        return {**orders.operators(), **growth.operators(), **volume_transfer.operators()}
    return {**simulated_orders(), **simulated_growth(), **simulated_volume_transfers()}


def _build_operators(
    runtime: Runtime,
    disks: Disks,
    volumes: Volumes,
    *,
    state: Path,
    config: AgentConfig,
    open_peer: OpenPeer,
    checkpoint: Checkpoint,
) -> Mapping[str, Operator]:
    transfers = transfer_operators(
        runtime, disks, state=state, open_peer=open_peer, listen_at=config.listen_at, checkpoint=checkpoint
    )
    images = ImageOperations(runtime, checkpoint=checkpoint).operators()
    disk_work = _disk_operators(disks, volumes, config, checkpoint, open_peer)
    return {**disk_work, **transfers, **images}


def build_agent(state: Path, config: AgentConfig, checkpoint: Checkpoint = no_checkpoint) -> Agent:
    runtime, probe = build_runtime(state, config), build_probe(config)
    disks, volumes = build_disks(state, config), build_volumes(state, config)
    journal = Journal(state / "journal", durable=config.runtime != "simulated")
    if isinstance(runtime, LimitedRuntime):
        runtime.recover(journal)
    delete_incomplete_files(state)
    bridge, exec_interface = _build_access(state, config, runtime)
    launches = LaunchWatch(state, exec_interface, runtime.exec_interface() if isinstance(runtime, DockerRuntime) else None)
    streams, access = StreamServer(exec_interface), AccessFolders(state / "access")
    syncs, tidy = sync_operators(runtime, disks, volumes, checkpoint=checkpoint, local_images=config.local_images)
    operators = _build_operators(
        runtime, disks, volumes, state=state, config=config, open_peer=streams.open_peer, checkpoint=checkpoint
    )
    logs, commands = log_operators(runtime, launches.scripts.log), _build_commands(state, runtime, access, checkpoint)
    link = ConfirmingLink(url=config.url, host_id=config.host_id, key=load_or_make_key(state), state=state)
    steps = ActionExecutor(
        runtime=runtime,
        disks=disks,
        access=access,
        journal=journal,
        limits=_limits(config, probe),
        volumes=volumes,
        checkpoint=checkpoint,
        bridge=bridge,
        wipes=GpuWiper(probe.compute_processes, wipe_gpu),
        cache=ImageCache(runtime, state / CACHE_FILE, full_percent=config.image_gc_percent),
    )
    return Agent(
        AgentComponents(
            link=link,
            runtime=runtime,
            journal=journal,
            access=access,
            steps=steps,
            telemetry=Telemetry(runtime, disks, probe, streams_into=partial(_sessions, streams, bridge, commands)),
            gather=partial(host_facts.gather, config, runtime, probe, state),
            self_tester=SelfTester(_checks(state, config, runtime, probe, link), inline=runtime.instant),
            operations=_build_operations(runtime, {**operators, **syncs, **logs}, tidy, state=state, commands=commands),
            launches=launches,
            prefetch=ImagePrefetcher(runtime, steps.images, enabled=config.prefetch_images and not config.local_images),
            volumes=volumes,
            streams=streams,
            bridge=bridge,
        )
    )


def _sessions(streams: StreamServer, bridge: SshGateway, commands: CommandRunner, instance: str) -> int:
    return streams.sessions(instance) + bridge.sessions(instance) + commands.sessions(instance)


def _build_commands(state: Path, runtime: Runtime, access: AccessFolders, checkpoint: Checkpoint) -> CommandRunner:
    exec_interface = runtime.exec_interface() if isinstance(runtime, DockerRuntime) else None
    records = CommandRecords(state / "commands")
    return CommandRunner(records, exec_interface, access.variables, checkpoint=checkpoint)


def _build_operations(
    runtime: Runtime, operators: Mapping[str, Operator], tidy: Cleanup | None, *, state: Path, commands: CommandRunner
) -> Operations:
    if tidy is not None:
        tidy = chain_cleanups(tidy, TransferCleanup(state, roots_of(runtime).forget).tidy)
    return Operations(
        {**operators, run_command.KIND: commands},
        inline=runtime.instant,
        tidy=chain_cleanups(tidy, commands.tidy) if tidy else commands.tidy,
        forget=commands.forget,
    )


def _limits(config: AgentConfig, probe: GpuProbe) -> Limits:
    return Limits(
        port_first=ANY_PORT if config.behind_nat else config.port_first,
        port_last=HIGHEST_PORT if config.behind_nat else config.port_last,
        local_images=config.local_images,
        ssh_deadline_s=config.ssh_deadline_s,
        parallel_pulls=config.parallel_pulls,
        cuda=probe.driver()[1],
    )


def _build_access(state: Path, config: AgentConfig, runtime: Runtime) -> tuple[SshGateway, ExecInterface]:
    """Return the SSH server for images without one, and the exec interface for streams."""
    if not isinstance(runtime, DockerRuntime):
        return SimulatedSshGateway(), SimulatedExec()
    exec_interface = runtime.exec_interface()
    bridge = EmbeddedSshGateway(exec_interface, HostKeys(state / "host-keys"), None if config.behind_nat else config.listen)
    return bridge, SshRoutedExec(exec_interface, bridge)


def _checks(state: Path, config: AgentConfig, runtime: Runtime, probe: GpuProbe, link: Link) -> Checks:
    if config.runtime == "simulated":
        return lambda held: simulated_checks(runtime, probe, state, config.gpu_seed)
    return partial(
        host_checks,
        CheckDependencies(runtime, probe, state, partial(signed_connection, link), reach=PortCheck(config, link).checks),
    )
