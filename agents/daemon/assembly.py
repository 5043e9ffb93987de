"""Puts an agent together from its state folder."""

import resource
from functools import partial
from pathlib import Path

from agents.daemon import facts
from agents.daemon.access import AccessFolders
from agents.daemon.checks import Bench, host_checks
from agents.daemon.config import AgentConfig, load_or_make_key
from agents.daemon.docker_runtime import DockerRuntime
from agents.daemon.docker_spec import OPEN_FILES, EngineOptions
from agents.daemon.gpus import GpuProbe, NvmlProbe, SimulatedProbe
from agents.daemon.journal import Journal
from agents.daemon.link import Link
from agents.daemon.loop import Agent, Parts
from agents.daemon.net_speed import signed_line
from agents.daemon.runtime import Runtime
from agents.daemon.seccomp import profile_text
from agents.daemon.self_test import Checks, SelfTester
from agents.daemon.simulated_checks import simulated_checks
from agents.daemon.simulated_runtime import SimulatedRuntime
from agents.daemon.steps import Checkpoint, Limits, Steps, pass_by
from agents.daemon.telemetry import Telemetry
from agents.daemon.volumes import Disks, LoopDisks, SimulatedDisks


def build_probe(config: AgentConfig) -> GpuProbe:
    if config.simulated:
        return SimulatedProbe(config.simulate_gpus, config.gpu_seed)
    return NvmlProbe()


def build_runtime(state: Path, config: AgentConfig) -> Runtime:
    if config.runtime == "simulated":
        return SimulatedRuntime(state / "simulated.json")
    # An engine without the right to raise limits refuses a start above its own, which is ours as a rule.
    open_files = min(OPEN_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    options = EngineOptions(
        config.host_id, config.listen, config.network_pool, seccomp=profile_text(), open_files=open_files
    )
    return DockerRuntime(options)


def build_disks(state: Path, config: AgentConfig) -> Disks:
    if config.runtime == "simulated":
        return SimulatedDisks()
    return LoopDisks(state, sparse=config.sparse_disks)


def build_agent(state: Path, config: AgentConfig, checkpoint: Checkpoint = pass_by) -> Agent:
    runtime, probe, disks = build_runtime(state, config), build_probe(config), build_disks(state, config)
    journal = Journal(state / "journal", durable=config.runtime != "simulated")
    access = AccessFolders(state / "access")
    limits = Limits(
        port_first=config.port_first,
        port_last=config.port_last,
        local_images=config.local_images,
        ssh_deadline_s=config.ssh_deadline_s,
        parallel_pulls=config.parallel_pulls,
    )
    link = Link(url=config.url, host_id=config.host_id, key=load_or_make_key(state))
    return Agent(
        Parts(
            link=link,
            runtime=runtime,
            journal=journal,
            access=access,
            steps=Steps(runtime=runtime, disks=disks, access=access, journal=journal, limits=limits, checkpoint=checkpoint),
            telemetry=Telemetry(runtime, disks, probe),
            gather=partial(facts.gather, config, runtime, probe, state),
            self_tester=SelfTester(_checks(state, config, runtime, probe, link), inline=runtime.instant),
        )
    )


def _checks(state: Path, config: AgentConfig, runtime: Runtime, probe: GpuProbe, link: Link) -> Checks:
    if config.runtime == "simulated":
        return lambda held: simulated_checks(runtime, probe, state, config.gpu_seed)
    return partial(host_checks, Bench(runtime, probe, state, partial(signed_line, link)))
