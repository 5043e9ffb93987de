"""Streams into this host's instances: one standing link to the relay, over which it requests them.

They run in a thread of their own with an event loop. Losing the link closes no open stream, and it is restored with
the ticket of the newest sync.
"""

import asyncio
import logging
import os
import random
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, unquote_to_bytes, urlencode

from agents.daemon.control_plane.websocket import StreamLost, WebSocketStream, dial
from agents.daemon.engine.exec_interface import ExecInterface, SimulatedExec
from agents.daemon.engine.exec_stream import open_in_thread
from agents.daemon.engine.interface import SSH_PORT, EngineRefused, EngineSilent
from agents.daemon.files.file_server import FileServer, OnlyPath
from agents.daemon.streams.peer_connection import PeerConnection, PeerConnectionLost, connect_to_peer, wait_for
from agents.daemon.streams.stream_limits import Door, OpenStreams, TooManyStreams
from agents.daemon.streams.tcp_forward import forward
from agents.daemon.streams.terminals import Terminals
from agents.protocol.codec import parse_json_object
from agents.protocol.messages import DesiredState, Tunnel
from agents.protocol.stream_grants import EXEC, FILES, PORT, READ, WRITE, BadGrant, Grant, open_grant

logger = logging.getLogger(__name__)

SIGN_OF_LIFE_S: Final = 15.0
FIRST_PAUSE_S: Final = 0.25
LONGEST_PAUSE_S: Final = 15.0
STEADY_S: Final = 30.0  # a link that lasted this long counts as good
# What each grant of files allows.
_ONE_PATH: Final = {READ: frozenset({"read", "sum"}), WRITE: frozenset({"write", "unpack"})}


class Refused(Exception):
    """A stream is refused; `code` is for programs."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


@dataclass(frozen=True)
class StreamConfig:
    """Information about streams from the newest sync."""

    url: str = ""
    ticket: str = ""
    key: str = ""
    tunnels: tuple[Tunnel, ...] = ()
    running: frozenset[str] = frozenset()
    clock_ahead_s: float = 0.0  # difference of the control plane's clock to this machine's monotonic one

    def now(self) -> float:
        return time.monotonic() + self.clock_ahead_s


class StreamServer:
    """One host's streams. `apply`, `stop`, `sessions` and `open_peer` are for other threads."""

    def __init__(self, exec_interface: ExecInterface | None = None) -> None:
        self._exec_interface = exec_interface or SimulatedExec()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._terminals = Terminals(self._exec_interface)
        self._files = FileServer(self._exec_interface)
        self._standing = StreamConfig()
        self._changed = asyncio.Event()
        self._open = OpenStreams()
        self._used_grants: dict[str, int] = {}  # by id, with the time at which they expire
        self._tasks: set[asyncio.Task[None]] = set()

    # -- for other threads

    def apply(self, desired: DesiredState) -> None:
        """Apply a sync's answer; the thread starts with the first link that is wanted."""
        if not desired.link_url and self._thread is None:
            return
        standing = StreamConfig(
            url="" if desired.frozen else desired.link_url,
            ticket=desired.link_ticket,
            key=desired.slip_key,
            tunnels=tuple(desired.tunnels),
            running=frozenset(item.id for item in desired.instances if item.run == "running"),
            clock_ahead_s=(desired.now or time.time()) - time.monotonic(),
        )
        self._standing = standing  # set at once for `open_peer`, since an operation may start with this very sync
        self._ensure_loop().call_soon_threadsafe(self._changed.set)

    def sessions(self, instance: str) -> int:
        """Return how many streams lead into the instance: watched terminals and connections to ports."""
        return self._open.of_instance(instance)

    def open_peer(self, pair: str, ticket: str, *, wait_s: float = 10.0) -> PeerConnection:
        """Open a connection to the other host of a copy, once that host is there too.

        Raises:
            PeerConnectionLost: The connection failed, or the other host did not come.
        """
        base = self._standing.url.removesuffix("/link")
        if not base:
            raise PeerConnectionLost("no relay is known yet")
        loop = self._ensure_loop()
        url = f"{base}/pairs/{quote(pair)}?{urlencode({'ticket': ticket})}"
        try:
            return PeerConnection(loop, wait_for(loop, connect_to_peer(url, wait_s), wait_s + 30.0))
        except (OSError, TimeoutError) as error:
            raise PeerConnectionLost(str(error) or "the other side did not come") from error

    def stop(self) -> None:
        """End all streams; containers and their programs keep running, except for terminals."""
        with self._starting:
            if self._thread is not None and self._loop is not None and self._thread.is_alive():
                self._loop.call_soon_threadsafe(self._cancel_all)
                self._thread.join(10)
        self._exec_interface.close()

    def _ensure_loop(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run, args=(self._loop,), name="streams", daemon=True)
                self._thread.start()
            return self._loop

    # -- in the thread of its own

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:  # it cancels and awaits all remaining tasks at its end
            runner.run(self._live())

    async def _live(self) -> None:
        work = [asyncio.create_task(self._keep_link()), asyncio.create_task(self._sweep())]
        self._tasks.update(work)
        await asyncio.gather(*work, return_exceptions=True)
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._terminals.end(all_of=True)

    def _cancel_all(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SIGN_OF_LIFE_S)
            await self._terminals.end()
            now = self._standing.now()
            self._used_grants = {key: ends for key, ends in self._used_grants.items() if ends > now}

    async def _keep_link(self) -> None:
        pause = FIRST_PAUSE_S
        while True:
            standing = self._standing
            if not standing.url:
                await self._wait_for_change()
                continue
            begun = time.monotonic()
            try:
                await self._hold_link(standing)
            except StreamLost as error:
                logger.info("the link to the relay: %s", error)
            except Exception:  # whatever the error, the next link may last
                logger.exception("the link to the relay broke off")
            pause = FIRST_PAUSE_S if time.monotonic() - begun > STEADY_S else min(pause * 2, LONGEST_PAUSE_S)
            await asyncio.sleep(random.uniform(pause / 2, pause))  # noqa: S311 it spreads load

    async def _wait_for_change(self) -> None:
        await self._changed.wait()
        self._changed.clear()

    async def _hold_link(self, standing: StreamConfig) -> None:
        """Hold one link until it breaks or the relay's address changes."""
        link = await dial(f"{standing.url}?{urlencode({'ticket': standing.ticket})}", watch=True)
        telling = asyncio.create_task(self._send_updates(link, standing.url))
        try:
            async for frame in link:
                words = parse_json_object(frame) if isinstance(frame, str) else {}
                if "dial" in words:
                    self._spawn(self._serve_request(link, standing.url, words))
            raise StreamLost(f"closed: {link.verdict}")
        finally:
            telling.cancel()
            await link.close()

    async def _send_updates(self, link: WebSocketStream, url: str) -> None:
        """Send ticket and tunnels after each sync, and as a sign of life between syncs."""
        with suppress(StreamLost):
            while self._standing.url == url:
                self._changed.clear()
                await link.send_json(
                    ticket=self._standing.ticket, tunnels=[vars(tunnel) for tunnel in self._standing.tunnels]
                )
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), SIGN_OF_LIFE_S)
        await link.close()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve_request(self, link: WebSocketStream, url: str, words: dict[str, Any]) -> None:
        """Serve one requested stream, or send the reason for the refusal."""
        stream = str(words["dial"])
        try:
            grant = self._grant_for(words)
            await self._serve(f"{url}/{quote(stream)}", grant, str(words.get("size", "")))
        except Refused as error:
            with suppress(StreamLost):
                await link.send_json(refused=stream, code=error.code, detail=str(error))
        except StreamLost as error:
            logger.info("a stream was lost before it began: %s", error)
        except Exception:  # an error in one stream must not affect others
            logger.exception("a stream broke off")

    def _grant_for(self, words: dict[str, Any]) -> Grant:
        """Return the grant to enter an instance; the relay alone cannot make one.

        Either the request has a grant signed by the control plane, or it names a tunnel of this host.

        Raises:
            Refused: It has neither, or the instance should not run.
        """
        standing = self._standing
        if "tunnel" in words:
            found = next((item for item in standing.tunnels if item.relay_port == words["tunnel"]), None)
            if found is None:
                raise Refused("no_tunnel", "This host has no such tunnel.")
            grant = Grant("", found.instance, PORT, 0, found.port, once=False)  # without an id: nobody signed it
        else:
            grant = self._verify_grant(standing, str(words.get("grant", "")))
        if grant.instance not in standing.running:
            raise Refused("not_running", "The instance is not running.")
        return grant

    def _verify_grant(self, standing: StreamConfig, text: str) -> Grant:
        try:
            grant = open_grant(standing.key, text, now=standing.now())
        except BadGrant as error:
            raise Refused("bad_grant", f"The grant is {error}.") from error
        if grant.once:
            if grant.id in self._used_grants:
                raise Refused("grant_used", "The ticket has been used; ask for a new one.")
            self._used_grants[grant.id] = grant.expires_at
        return grant

    async def _serve(self, url: str, grant: Grant, size: str) -> None:
        handlers: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
            PORT: lambda: self._serve_port(url, grant),
            EXEC: lambda: self._serve_terminal(url, grant, size),
            FILES: lambda: self._serve_files(url, grant),
            READ: lambda: self._serve_files(url, grant),
            WRITE: lambda: self._serve_files(url, grant),
        }
        if grant.kind not in handlers:
            raise Refused("unknown_kind", f"This agent knows no stream of the kind {grant.kind}; it may be too old.")
        strangers: Door = "ssh" if grant.port == SSH_PORT else "port"
        try:
            with self._open.place(grant.instance, None if grant.id else strangers):
                await handlers[grant.kind]()
        except TooManyStreams as error:
            raise Refused("too_many_streams", str(error)) from error
        except (EngineRefused, EngineSilent) as error:
            raise Refused("not_there", str(error)[:200]) from error

    async def _serve_port(self, url: str, grant: Grant) -> None:
        try:
            inside = await open_in_thread(self._exec_interface.connect, grant.instance, grant.port)
        except OSError as error:
            raise Refused("port_silent", f"Nothing answers at port {grant.port} of the instance: {error}.") from error
        try:
            websocket = await dial(url)
        except (StreamLost, asyncio.CancelledError):
            inside.close()
            raise
        await forward(websocket, inside)

    async def _serve_terminal(self, url: str, grant: Grant, size: str) -> None:
        try:
            session = await self._terminals.open(grant.instance, grant.session or grant.id, size)
        except OSError as error:
            raise Refused("not_there", str(error)[:200]) from error
        websocket = await dial(url)
        try:
            await self._terminals.attach(session, websocket)
        finally:
            await websocket.close()

    async def _serve_files(self, url: str, grant: Grant) -> None:
        """Serve file requests one by one; a grant for one path is limited to that, whatever is requested."""
        if self._files.crowded(grant.instance):
            raise Refused("too_many_streams", "Too many are at this instance's files; close a page or wait for one to end.")
        websocket = await dial(url)
        try:
            ways = _ONE_PATH.get(grant.kind)
            only = OnlyPath(os.fsdecode(unquote_to_bytes(grant.path)), ways) if ways else None
            await self._files.serve(grant.instance, websocket, only=only)
        finally:
            await websocket.close()
