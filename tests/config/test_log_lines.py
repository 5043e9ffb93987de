"""What a program writes to its log: what came from outside forges no line of it, and reaches no terminal as a command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FORGED = "2026-01-01 00:00:00,000 ERROR berth.ledger: all money is gone"
SAY = f"""
import logging

def say():
    name = "box\\r\\n{FORGED}\\x1b[2J\\u202e\\u2028{FORGED}"
    logging.getLogger("berth.test").warning("instance %s has ended", name)
    try:
        raise ValueError(name)
    except ValueError:
        logging.getLogger("uvicorn.error").exception("it failed")
"""
PROGRAMS = {
    "relay": "from agents.relay import __main__ as it\nit.RelayServer.run = lambda server: say()\nit.main([])",
    "agent": "from agents.daemon.__main__ import main\nmain(['install'])\nsay()",
    "web": "import django\ndjango.setup()\nsay()",
    "worker": "import django\nfrom config.celery import app\ndjango.setup()\napp.log.setup(loglevel='INFO')\nsay()",
}


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_no_line_is_forged(name: str) -> None:
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings.dev", "RELAY_SECRET": "x" * 32, "SECRET_KEY": "y" * 50}
    env |= {"DATABASE_URL": "postgresql:///nowhere", "REDIS_URL": "redis://nowhere", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-c", SAY + PROGRAMS[name]], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    lines = done.stderr.splitlines()
    assert any("instance box" in line and "\\x1b[2J" in line for line in lines), done.stderr
    assert any("ValueError" in line for line in lines), "its traceback is there"
    assert not [line for line in lines if line.startswith(FORGED)]
    assert "\x1b[2J" not in done.stderr and "\u202e" not in done.stderr and "\u2028" not in done.stderr
