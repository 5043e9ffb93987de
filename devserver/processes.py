"""Commands and environments of the stack's programs."""

import os
import secrets
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from devserver.image import SYNC_FOLDER, SYNC_REFERENCE, own_reference
from devserver.paths import ROOT, Layout
from devserver.supervisor import Program

WEB_WORKERS = 2
# As in the Dockerfile. Many connections, since a slow one occupies no thread (config.front). Headers must arrive within
# 15 s.
WEB_OPTIONS = (
    *("--interface", "rsgi", "--http", "1", "--backlog", "4096", "--backpressure", "4096"),
    *(
        "--http1-header-read-timeout",
        "15000",
        "--respawn-failed-workers",
        "--no-ws",
        "--no-access-log",
        "config.rsgi:application",
    ),
)
# How old the copy of the market may be that answers a page; orders are checked in the database. The jobs, which give
# free GPUs to the wait list, always use an up-to-date copy.
WEB_MARKET_AGE_MS = 1_000
WEB_MARKET = {"MARKET_MAX_AGE_MS": str(WEB_MARKET_AGE_MS)}
JOBS = {"BERTH_PROCESS": "jobs"}  # see config.timeouts
WORKER_GRACE_S = 10.0
# What `make dev` watches: a change there restarts the programs.
WATCHED = [
    ROOT / name
    for name in (
        *(
            "accounts",
            "agents",
            "billing",
            "common",
            "config",
            "instances",
            "locale",
            "marketplace",
            "static",
            "storage",
            "workloads",
            "vast",
        ),
        "templates",
    )
]
RELOAD_GRACE_S = 10.0
RELAY_TCP_PORTS = "19000-19999"  # for hosts behind NAT; each is opened when an instance uses it
_BIN = Path(sys.executable).parent


def stack_environment(layout: Layout, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for every program of the stack; `environment` names the databases.

    The secrets belong to this state folder: no other stack accepts its sessions or tickets.
    """
    return {
        **environment,
        "PATH": f"{_BIN}{os.pathsep}{environment.get('PATH', os.defpath)}",
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": str(ROOT),
        "DJANGO_SETTINGS_MODULE": "config.settings.dev",
        "BERTH_STATE": str(layout.state),
        "PORT": str(layout.port),
        "SECRET_KEY_FILE": str(_secret_file(layout, "secret_key")),
        "RELAY_SECRET_FILE": str(_secret_file(layout, "relay_secret")),
        "LEDGER_SIGNING_KEY_FILE": str(_secret_file(layout, "ledger_signing_key", secrets.token_hex(32))),
        "LEDGER_ANCHOR_DIR": str(layout.state / "anchors"),
        "SITE_URL": layout.url,
        "RELAY_URL": layout.relay_url,
        "RELAY_ORIGIN": layout.url,
        "RELAY_TCP_PORTS": RELAY_TCP_PORTS,
        "RELAY_TCP_LISTEN": layout.host,
        "SYNC_IMAGE": environment.get("SYNC_IMAGE") or own_reference(SYNC_REFERENCE, SYNC_FOLDER),
        "RELAY_REACH_PRIVATE": "yes",  # the demo's own host is on this machine
        # Browsers resolve every name below localhost to this machine.
        "RELAY_WEB_HOST": f"localhost:{layout.relay_port}",
        "BEAT_SCHEDULE": str(layout.state / "celerybeat-schedule"),
    }


def write_environment(layout: Layout, environment: Mapping[str, str]) -> None:
    """Write the variables that `manage.py` needs for the running stack to a file for the shell."""
    names = (
        "DJANGO_SETTINGS_MODULE",
        "DATABASE_URL",
        "REDIS_URL",
        "SECRET_KEY_FILE",
        "RELAY_SECRET_FILE",
        "LEDGER_SIGNING_KEY_FILE",
        "LEDGER_ANCHOR_DIR",
        "SITE_URL",
        "RELAY_URL",
        "RELAY_TCP_PORTS",
        "RELAY_WEB_HOST",
    )
    lines = [f"{name}={shlex.quote(environment[name])}\n" for name in names]
    path = layout.state / "env"
    path.touch(mode=0o600)
    path.write_text("".join(lines), encoding="utf-8")


def relay(layout: Layout, environment: dict[str, str]) -> Program:
    command = (sys.executable, "-m", "agents.relay", "--host", layout.host, "--port", str(layout.relay_port))
    return Program("relay", command, environment)


def web(layout: Layout, environment: dict[str, str]) -> Program:
    command = [str(_BIN / "granian"), "--host", layout.host, "--port", str(layout.port), "--workers", str(WEB_WORKERS)]
    return Program("web", [*command, *WEB_OPTIONS], {**environment, **WEB_MARKET})


def worker(environment: dict[str, str]) -> Program:
    command = [str(_BIN / "celery"), "-A", "config", "worker", "--concurrency", "2", "--loglevel", "INFO"]
    command += ["--without-gossip", "--without-mingle"]
    return Program("worker", command, {**environment, **JOBS}, grace_s=WORKER_GRACE_S)


def beat(layout: Layout, environment: dict[str, str]) -> Program:
    # No pid file: a beat that was killed would leave one, and refuse to start again because of it.
    command = (str(_BIN / "celery"), "-A", "config", "beat", "--loglevel", "INFO", "--pidfile=")
    return Program("beat", command, {**environment, **JOBS})


def reloading(program: Program, folders: Sequence[Path] = WATCHED) -> Program:
    """Return `program` as one that is restarted whenever a file in `folders` changes."""
    watch = [str(_BIN / "watchfiles"), "--sigint-timeout", f"{RELOAD_GRACE_S:g}", "--target-type", "command"]
    command = [*watch, shlex.join(program.command), *map(str, folders)]
    return replace(program, command=command, grace_s=program.grace_s + RELOAD_GRACE_S)


def _secret_file(layout: Layout, name: str, content: str = "") -> Path:
    """Return the file of a secret, written once with `content` or a random text."""
    path = layout.state / name
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(content or secrets.token_urlsafe(48), encoding="utf-8")
    return path
