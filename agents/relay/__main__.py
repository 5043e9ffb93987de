"""Starts the relay: `python -m agents.relay --host 127.0.0.1 --port 8001`."""

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

GRACE_S = 3  # waiters are answered at once; only a client that does not read can take longer
BACKLOG = 4_096
MESSAGE_BYTES = 2 * 1024 * 1024
PING_S = 20.0
KEEP_ALIVE_S = 75  # an agent comes back on its connection after a sync


class RelayServer(uvicorn.Server):
    """Answers everyone who waits before it waits for their connections to end."""

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
        host = "" if options.host == "::" else options.host  # on IPv4 and IPv6
        build_server(build_app(config), host=host, port=options.port).run()


def build_server(app: Starlette, *, host: str, port: int) -> RelayServer:
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=BoundedHttp,
        access_log=False,  # its lines would hold tickets
        backlog=BACKLOG,
        lifespan="on",
        log_config=None,  # its lines are written as all others are
        log_level="info",
        proxy_headers=False,  # nothing here depends on who asks: the ticket tells
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=KEEP_ALIVE_S,
        ws="websockets-sansio",
        ws_max_size=MESSAGE_BYTES,
        ws_per_message_deflate=False,  # what streams carry is compressed or encrypted already
        # Keeps the ways open through NAT. No answer is no reason to hang up: it waits behind what a slow reader left unread.
        ws_ping_interval=PING_S,
        ws_ping_timeout=None,
    )
    logging.getLogger("uvicorn.error").addFilter(_tells_no_ticket)
    return RelayServer(config, app.state.switchboard)


def _tells_no_ticket(record: logging.LogRecord) -> bool:
    """uvicorn writes a line with the whole address, ticket included, for each WebSocket."""
    return '"WebSocket ' not in str(record.msg)


def allow_many_connections() -> None:
    """Each waiter is an open file; the usual soft limit of 1,024 would end it there."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    main()
