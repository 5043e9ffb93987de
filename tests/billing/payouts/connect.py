"""A small Stripe Connect: accounts and transfers over real HTTP, with the faults of a real network."""

import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

CONNECTED = "acct_1HanaConnected"
UNFINISHED = "acct_1HanaUnfinished"


@dataclass
class Connect:
    """What the server remembers, and what it is told to do wrong next."""

    transfers: dict[str, dict[str, Any]] = field(default_factory=dict)
    replies: dict[str, dict[str, Any]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    lose_replies: int = 0
    """So many transfers are made, and the line breaks before the answer."""
    refuse: str = ""
    """The code with which a transfer is turned down."""
    broken: bool = False
    """Every call is a 500 that does nothing."""
    busy_keys: bool = False
    """Another request with the same key is being carried out."""
    accounts: dict[str, dict[str, Any]] = field(default_factory=dict)
    pages: list[dict[str, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    numbers: Iterator[int] = field(default_factory=itertools.count)
    base: str = ""

    @property
    def sent_cents(self) -> int:
        return sum(transfer["amount"] for transfer in self.transfers.values())

    def forget_keys(self) -> None:
        """As Stripe does after a day."""
        self.replies.clear()

    def make(self, form: dict[str, str], key: str) -> tuple[int, dict[str, Any]]:
        with self.lock:
            if self.busy_keys:
                return 409, _error("idempotency_error", "idempotency_key_in_use")
            if key in self.replies:
                return 200, self.replies[key]
            if self.refuse:
                return 400, _error("invalid_request_error", self.refuse)
            transfer: dict[str, Any] = {
                "id": f"tr_{next(self.numbers):08d}",
                "object": "transfer",
                "amount": int(form["amount"]),
                "currency": form["currency"],
                "destination": form["destination"],
                "transfer_group": form["transfer_group"],
                "reversed": False,
                "metadata": {"berth_payout": form["metadata[berth_payout]"]},
            }
            self.transfers[transfer["id"]] = transfer
            self.replies[key] = transfer
            return 200, transfer

    def find(self, group: str) -> dict[str, Any]:
        found = [transfer for transfer in self.transfers.values() if transfer["transfer_group"] == group]
        return {"object": "list", "url": "/v1/transfers", "has_more": False, "data": found}

    def account(self, account_id: str) -> tuple[int, dict[str, Any]]:
        if account_id in self.accounts:
            return 200, self.accounts[account_id]
        if account_id not in (CONNECTED, UNFINISHED):
            return 403, _error("invalid_request_error", "account_invalid")
        done = account_id == CONNECTED
        active = "active" if done else "pending"
        return 200, {"id": account_id, "object": "account", "capabilities": {"transfers": active}, "payouts_enabled": done}

    def begin(self, form: dict[str, str], key: str) -> tuple[int, dict[str, Any]]:
        """An account with nothing but what the market has said; `capabilities` come when its owner is through."""
        with self.lock:
            if key not in self.replies:
                assert form["type"] == "express" and form["capabilities[transfers][requested]"] == "true"
                made: dict[str, Any] = {
                    "id": f"acct_1New{next(self.numbers):06d}", "object": "account", "email": form["email"],
                    "metadata": {"berth_owner": form["metadata[berth_owner]"]}, "payouts_enabled": False,
                    "requirements": {"currently_due": ["external_account", "individual.dob.day"]},
                }  # fmt: skip
                self.replies[key] = self.accounts[made["id"]] = made
            return 200, self.replies[key]

    def page(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        if form["account"] not in self.accounts:
            return 400, _error("invalid_request_error", "account_invalid")
        self.pages.append(form)
        url = f"https://connect.stripe.com/setup/e/{form['account']}/{len(self.pages)}"
        return 200, {"object": "account_link", "url": url, "created": 1, "expires_at": 301}

    def reverse(self, transfer_id: str) -> None:
        """Somebody reverses it at Stripe's own site."""
        self.transfers[transfer_id]["reversed"] = True


def _error(kind: str, code: str) -> dict[str, Any]:
    return {"error": {"type": kind, "code": code, "message": f"Refused: {code}"}}


class Handler(BaseHTTPRequestHandler):
    """One request; `connect` is set on the subclass that a server is made of."""

    connect: Connect

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        self.connect.calls.append(f"GET {address.path}")
        if self.connect.broken:
            self._reply(500, _error("api_error", "broken"))
        elif address.path.startswith("/v1/accounts/"):
            self._reply(*self.connect.account(address.path.rpartition("/")[2]))
        elif address.path.startswith("/v1/transfers/"):
            self._reply(200, self.connect.transfers[address.path.rpartition("/")[2]])
        else:
            self._reply(200, self.connect.find(dict(parse_qsl(address.query))["transfer_group"]))

    def do_POST(self) -> None:
        form = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        self.connect.calls.append(f"POST {self.path}")
        if self.connect.broken:
            self._reply(500, _error("api_error", "broken"))
            return
        key = self.headers["Idempotency-Key"]
        if self.path == "/v1/accounts":
            status, body = self.connect.begin(form, key)
        elif self.path == "/v1/account_links":
            status, body = self.connect.page(form)
        else:
            status, body = self.connect.make(form, key)
        if self.connect.lose_replies:
            self.connect.lose_replies -= 1
            self.close_connection = True
            return
        self._reply(status, body)

    def _reply(self, status: int, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.send_header("Stripe-Should-Retry", "false")
        self.end_headers()
        self.wfile.write(text)


@contextmanager
def serve_connect() -> Iterator[Connect]:
    connect = Connect()
    handler = type("ConnectHandler", (Handler,), {"connect": connect})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    connect.base = f"http://127.0.0.1:{server.server_port}"
    try:
        yield connect
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
