"""Production settings start only with every secret, and pass Django's own check."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
WHOLE = {
    "SECRET_KEY": "kept-outside-the-repository-and-long-enough-for-djangos-own-check-0123456789",
    "RELAY_SECRET": "another",
    "LEDGER_SIGNING_KEY": "0123456789abcdef" * 4,
    "DATABASE_URL": "postgresql:///berth",
    "REDIS_URL": "redis://localhost",
    "ALLOWED_HOSTS": "berth.example",
    "SITE_URL": "https://berth.example",
    "MAIL_FROM": "berth@berth.example",
    "MAIL_HOST": "mail.berth.example",
}


def check(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**own, **environment, "DJANGO_SETTINGS_MODULE": "config.settings.prod"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_production_passes_djangos_deployment_check() -> None:
    result = check(WHOLE)
    assert result.returncode == 0, result.stderr


NEEDED = ["SECRET_KEY", "RELAY_SECRET", "LEDGER_SIGNING_KEY", "DATABASE_URL", "REDIS_URL", "MAIL_HOST"]


@pytest.mark.parametrize("missing", NEEDED)
def test_production_does_not_start_without(missing: str) -> None:
    result = check({name: value for name, value in WHOLE.items() if name != missing})
    assert result.returncode != 0
    assert missing in result.stderr


@pytest.mark.parametrize("key", ["", "0123", "g" * 64, "0" * 66])
def test_a_signing_key_is_64_hex_digits(key: str) -> None:
    result = check({**WHOLE, "LEDGER_SIGNING_KEY": key})
    assert result.returncode != 0
    assert "64 hex digits" in result.stderr


def test_secrets_may_lie_in_files(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(WHOLE["SECRET_KEY"] + "\n")
    rest = {name: value for name, value in WHOLE.items() if name != "SECRET_KEY"}
    assert check({**rest, "SECRET_KEY_FILE": str(file)}).returncode == 0
