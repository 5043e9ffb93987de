"""Stand-in of all services on this machine: a real HTTP server, reached by the market's own client under their names."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from accounts.notification_channels.formats.parts import Credentials
from common.http.outbound import OutboundResponse, send_request

SLACK = "https://hooks.slack.com/services/T00000000/B00000000/slackSecret0123456789abcd"
DISCORD = "https://discord.com/api/webhooks/123456789012345678/discordSecret_0123456789-abcdefghij"
TELEGRAM = "123456789:AAE-telegramSecret_0123456789abcdefg"
CHAT = "-1001234567890"
FEISHU = "https://open.feishu.cn/open-apis/bot/v2/hook/feishuSecret-0123-4567-89ab"
LARK = "https://open.larksuite.com/open-apis/bot/v2/hook/larkSecret-0123-4567-89ab"
DINGTALK = "https://oapi.dingtalk.com/robot/send?access_token=dingtalkSecret0123456789abcdef0123456789"
WECOM = "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=wecomSecret-0123-4567-89ab-cdef"
FEISHU_SECRET = "feishuSigningSecret42"
DINGTALK_SECRET = "SECdingtalkSigningSecret0123456789"
GIVEN: dict[str, dict[str, str]] = {
    "slack": {"url": SLACK},
    "discord": {"url": DISCORD},
    "telegram": {"token": TELEGRAM, "chat_id": CHAT},
    "feishu": {"url": FEISHU, "secret": FEISHU_SECRET},
    "dingtalk": {"url": DINGTALK, "secret": DINGTALK_SECRET},
    "wecom": {"url": WECOM},
}
FINE: dict[str, tuple[int, str]] = {
    "slack": (200, "ok"),
    "discord": (200, '{"id": "1"}'),
    "telegram": (200, '{"ok": true, "result": {"message_id": 1}}'),
    "feishu": (200, '{"StatusCode": 0, "StatusMessage": "success", "code": 0, "data": {}, "msg": "success"}'),
    "dingtalk": (200, '{"errcode": 0, "errmsg": "ok"}'),
    "wecom": (200, '{"errcode": 0, "errmsg": "ok"}'),
    "json": (204, ""),
}
SECRETS = [
    *("slackSecret0123456789abcd", "discordSecret_0123456789-abcdefghij", "AAE-telegramSecret_0123456789abcdefg"),
    *("feishuSecret", "larkSecret", "dingtalkSecret", "wecomSecret", FEISHU_SECRET, DINGTALK_SECRET, CHAT),
]


def credentials(service: str) -> Credentials:
    return Credentials(**GIVEN[service])


@dataclass
class Heard:
    """One request."""

    host: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Vendors:
    """What the services heard, and what they answer from now on: `answers` first, then `answer`."""

    port: int = 0
    answer: tuple[int, str] = (200, "ok")
    headers: Mapping[str, str] = field(default_factory=dict)
    answers: list[tuple[int, str]] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)
    at_request: Callable[[], None] = lambda: None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def transport(self, method: str, url: str, *, headers: Mapping[str, str], **options: Any) -> OutboundResponse:
        """Make the request with the market's client; only the machine behind the name is another."""
        parts = urlsplit(url)
        assert parts.scheme == "https" or parts.hostname == "127.0.0.1"
        local = parts._replace(scheme="http", netloc=f"127.0.0.1:{self.port}").geturl()
        return send_request(method, local, headers={**headers, "X-Meant-For": parts.netloc}, **options)


@contextmanager
def listening() -> Iterator[Vendors]:
    vendors = Vendors()
    vendors.gate.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            vendors.heard.append(Heard(headers.get("x-meant-for", ""), self.path, headers, body))
            vendors.at_request()
            vendors.gate.wait(20)
            status, text = vendors.answers.pop(0) if vendors.answers else vendors.answer
            self.send_response(status)
            for name, value in vendors.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    vendors.port = server.server_port
    try:
        yield vendors
    finally:
        vendors.gate.set()
        server.shutdown()
        server.server_close()
        thread.join(5)
