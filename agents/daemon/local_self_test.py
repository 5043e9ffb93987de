"""Self-test on the owner's command, on this machine, with its checks shown as they are made."""

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from agents.daemon.control_plane.http_client import Link
from agents.daemon.control_plane.speed_test import signed_connection
from agents.daemon.lib.config import AgentConfig, load_or_make_key
from agents.daemon.self_test.checks import CheckDependencies, host_checks
from agents.daemon.self_test.simulated_checks import simulated_checks
from agents.daemon.wiring import build_probe, build_runtime
from agents.protocol.messages import Check

MARKET_ASKS = "the market measures it with the running agent: press Test on the host's page"


def own_checks(state: Path, config: AgentConfig) -> Iterator[Check]:
    """Yield the checks of this host; GPUs that an instance holds are left alone.

    Raises:
        EngineSilent: The container engine does not answer.
        EngineRefused: The container engine refuses a query.
    """
    probe = build_probe(config)
    with closing(build_runtime(state, config)) as runtime:
        if config.runtime == "simulated":
            yield from simulated_checks(runtime, probe, state, config.gpu_seed)
            return
        link = Link(url=config.url, host_id=config.host_id, key=load_or_make_key(state))
        bench = CheckDependencies(runtime, probe, state, partial(signed_connection, link))
        yield from host_checks(bench, lambda: frozenset(runtime.running_gpus()))


def as_line(check: Check) -> str:
    """Format one check, with its remedy if it failed; what only the market evaluates shows as measured."""
    words = {True: "passed", False: "failed", None: "measured" if check.value is not None else "not made"}
    gpu = f" {check.gpu}" if check.gpu else ""
    line = f"{words[check.passed]:9}{check.id}{gpu}: {check.actual}"
    if check.reason == "refused":
        return f"{words[None]:9}{check.id}: {MARKET_ASKS}"
    if check.passed is False:
        wanted = f" (wanted: {check.required})" if check.required else ""
        return f"{line}{wanted}" + (f"\n{'':9}-> {check.remedy}" if check.remedy else "")
    return line
