"""`berth login` without a token: a code in the terminal, which somebody allows (the page: tests/accounts/device_logins)."""

import re
import subprocess

import pytest

from tests.clients.terminal import Terminal
from tests.stack.harness import Stack

pytestmark = pytest.mark.stack

ANSWER = """
from accounts.device_logins.logins import answer_login
from accounts.models import User
answer_login(user=User.objects.get(email="bob@example.com"), user_code="{code}", allow={allow})
"""


@pytest.mark.parametrize(("allow", "code"), [(True, 0), (False, 3)])
def test_a_code_is_answered_somewhere_else(market: Stack, signed_out: Terminal, allow: bool, code: int) -> None:
    line = [*signed_out.program, "login", market.url, "--device", "--scope", "instances:read", "--scope", "account:read"]
    login = subprocess.Popen(line, env=signed_out.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert login.stderr is not None
        shown = re.search(r"/device and enter the code ([A-Z]{4}-[A-Z]{4})", login.stderr.readline())
        assert shown is not None
        market.manage("shell", "--verbosity", "0", "-c", ANSWER.format(code=shown.group(1), allow=allow))
        assert login.wait(60) == code, login.stderr.read()
    finally:
        login.kill()
        login.communicate()
    if allow:
        assert "bob@example.com" in signed_out.must("whoami")
        assert signed_out.json("ls") == []
        assert signed_out.run("wallet").returncode == 3, "only the scopes that were allowed"
