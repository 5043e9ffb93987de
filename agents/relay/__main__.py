"""Start the relay: `python -m agents.relay --host 127.0.0.1 --port 8001`."""

import argparse
import logging
import os
import resource
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress

import uvicorn
from starlette.applications import Starlette

from agents.protocol.log_lines import use_one_line
from agents.relay.change_notifier import ChangeNotifier
from agents.relay.config import MissingSetting, read_config
from agents.relay.http_limits import BoundedHttp
from agents.relay.routes import build_app

GRACE_S = 3  # waiting requests are answered at once; only a client that does not read takes longer
BACKLOG = 4_096
MESSAGE_BYTES = 2 * 1024 * 1024
PING_S = 20.0
KEEP_ALIVE_S = 75  # an agent reuses its connection after a sync


class RelayServer(uvicorn.Server):
    """Server that answers all waiting requests before it waits for their connections to close."""

    def __init__(self, config: uvicorn.Config, switchboard: ChangeNotifier) -> None:
        super().__init__(config)
        self._switchboard = switchboard

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._switchboard.close()
        await super().shutdown(sockets)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="berth-relay", description="Holds waiting agents and the event streams of pages.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8001)
    options = parser.parse_args(arguments)
    try:
        config = read_config(os.environ)
    except (MissingSetting, OSError) as error:
        sys.exit(f"berth-relay: {error}")
    use_one_line()
    allow_many_connections()
    with suppress(KeyboardInterrupt):
        host = "" if options.host == "::" else options.host  # IPv4 and IPv6
        build_server(build_app(config), host=host, port=options.port).run()


def build_server(app: Starlette, *, host: str, port: int) -> RelayServer:
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=BoundedHttp,
        access_log=False,  # the access log would contain tickets
        backlog=BACKLOG,
        lifespan="on",
        log_config=None,  # uvicorn's lines are formatted as all others
        log_level="info",
        proxy_headers=False,  # nothing here depends on the client's address: the ticket decides
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=KEEP_ALIVE_S,
        ws="websockets-sansio",
        ws_max_size=MESSAGE_BYTES,
        ws_per_message_deflate=False,  # streams carry data that is already compressed or encrypted
        # Pings keep connections open through NAT. A missing pong closes nothing: it may be queued behind data that a
        # slow reader has not read yet.
        ws_ping_interval=PING_S,
        ws_ping_timeout=None,
    )
    logging.getLogger("uvicorn.error").addFilter(_tells_no_ticket)
    return RelayServer(config, app.state.switchboard)


def _tells_no_ticket(record: logging.LogRecord) -> bool:
    """Filter out uvicorn's line for each WebSocket, since it contains the whole URL with its ticket."""
    return '"WebSocket ' not in str(record.msg)


def allow_many_connections() -> None:
    """Raise the limit of open files to the hard limit: each waiting request is one, and 1,024 is usual."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    main()
