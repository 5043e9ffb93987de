"""What runs in official images, without an engine: the key of the LLM server, and programs that are started again."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

from images.llm.berth_key import AskForKey, Message
from scripts.images.matrix import FOLDER

HOST = (b"host", b"a.example")
KEY = (b"authorization", b"Bearer right")


@pytest.fixture
def request_to(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Send one scope through the middleware; return what the application saw, and what the client gets."""
    monkeypatch.setenv("BERTH_API_KEY", "right")

    def ask(kind: str, path: str, *headers: tuple[bytes, bytes]) -> tuple[list[str], list[Message]]:
        seen: list[str] = []
        sent: list[Message] = []

        async def app(scope: Message, receive: Any, send: Any) -> None:
            seen.append(scope["path"])

        async def receive() -> Message:
            raise AssertionError("nothing is read of what is refused")

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {"type": kind, "path": path, "headers": list(headers)}
        asyncio.run(AskForKey(app)(scope, receive, send))
        return seen, sent

    return ask


@pytest.mark.parametrize(
    "path", ["/v1/models", "/invocations", "/pooling", "/pause", "/", "/health/", "/healthy", "//health"]
)
def test_a_request_without_the_key_is_refused(request_to: Any, path: str) -> None:
    for headers in ((HOST,), (HOST, (b"authorization", b"Bearer wrong")), (HOST, (b"authorization", b"right"))):
        seen, sent = request_to("http", path, *headers)
        assert seen == []
        assert [message.get("status") for message in sent] == [401, None]
    assert request_to("http", path, HOST, KEY) == ([path], [])


def test_a_websocket_without_the_key_is_refused(request_to: Any) -> None:
    assert request_to("websocket", "/v1/realtime", HOST) == ([], [{"type": "websocket.close", "code": 1008}])
    assert request_to("websocket", "/v1/realtime", HOST, KEY) == (["/v1/realtime"], [])


def test_health_is_open_and_the_host_header_opens_nothing(request_to: Any) -> None:
    assert request_to("http", "/health", HOST) == (["/health"], [])
    for host in (b"a/health?", b"a/health#", b"/health"):
        assert request_to("http", "/v1/models", (b"host", host))[0] == []
    assert request_to("http", "/v1/models", HOST, KEY, (b"authorization", b"Bearer wrong"))[0] == ["/v1/models"]
    assert request_to("http", "/v1/models", HOST, (b"authorization", "Bearer schlüssel".encode()))[0] == []


def test_both_servers_ask_for_the_key() -> None:
    service = (FOLDER / "llm" / "service").read_text(encoding="utf-8")
    assert "--middleware berth_key.AskForKey" in service
    assert "add_middleware(AskForKey)" in (FOLDER / "llm" / "serve.py").read_text(encoding="utf-8")


def test_a_program_that_ends_at_once_is_started_less_and_less_often(tmp_path: Path) -> None:
    """Up to a minute apart; one that ran for a while is started at once again."""
    lines = (FOLDER / "base" / "entrypoint").read_text(encoding="utf-8").split("keep_running() {")[1].split("\n}\n")[0]
    function = "keep_running() {" + lines.replace("/var/log/berth", str(tmp_path)) + "\n}\n"
    (tmp_path / "now").write_text("0")
    (tmp_path / "runs").write_text("0")
    script = f"""set -u
cd {tmp_path}
date() {{ cat now; }}
sleep() {{ printf '%s\\n' "$1" >>pauses; }}
program() {{
  runs=$(($(cat runs) + 1))
  echo "$runs" >runs
  case $runs in 9) echo 3600 >now ;; 11) exit 0 ;; esac
}}
{function}
keep_running one program
"""
    subprocess.run(["/bin/sh", "-c", script], check=True, timeout=30)
    assert (tmp_path / "pauses").read_text().split() == ["1", "2", "4", "8", "16", "32", "60", "60", "1", "2"]
