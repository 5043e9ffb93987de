"""HTTP client of the agent: persistent connections, no redirects, no retries, proxies by environment."""

import os
import ssl
from collections.abc import Mapping
from functools import cache, partial
from typing import Final
from urllib.request import getproxies, proxy_bypass

import certifi
from urllib3 import BaseHTTPResponse, PoolManager, ProxyManager, Timeout
from urllib3.exceptions import URLSchemeUnknown
from urllib3.util import parse_url

from agents.daemon import __version__

CONNECT_S: Final = 5.0
AT_ONCE: Final = 4


@cache
def trust() -> ssl.SSLContext:
    """Return the TLS context shared by all connections, since each context costs 20 ms and some MB.

    SSL_CERT_FILE names the certificates of a market with its own authority.
    """
    return ssl.create_default_context(cafile=os.environ.get("SSL_CERT_FILE") or certifi.where())


class Client:
    """HTTP client with persistent connections, to be closed in the thread that uses it.

    `silence_s` is how long a response may stand still.
    """

    def __init__(self, silence_s: float) -> None:
        self._silence_s = silence_s
        self._ways: dict[tuple[str, str], PoolManager] = {}

    def request(
        self, method: str, url: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> BaseHTTPResponse:
        """Send a request and return the whole response, whatever its status.

        Raises:
            HTTPError: urllib3 got no response.
        """
        parts = parse_url(url)
        if parts.scheme not in ("http", "https") or parts.netloc is None:
            raise URLSchemeUnknown(parts.scheme or "")
        way = self._ways.get((parts.scheme, parts.netloc)) or self._new_pool(parts.scheme, parts.netloc)
        own = {"User-Agent": f"berth-agent/{__version__}", **(headers or {})}
        return way.urlopen(method, url, redirect=False, body=body, headers=own)

    def close(self) -> None:
        for way in self._ways.values():
            way.clear()

    def _new_pool(self, scheme: str, place: str) -> PoolManager:
        """Create the connection pool for a server, through the proxy that the environment names.

        The variables are HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.
        """
        proxies = getproxies()
        proxy = None if proxy_bypass(place) else proxies.get(scheme) or proxies.get("all")
        made = partial(ProxyManager, proxy) if proxy else PoolManager
        timeout, context = Timeout(connect=CONNECT_S, read=self._silence_s), trust() if scheme == "https" else None
        self._ways[scheme, place] = way = made(maxsize=AT_ONCE, retries=False, timeout=timeout, ssl_context=context)
        return way
