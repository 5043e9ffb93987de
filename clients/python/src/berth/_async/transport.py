"""HTTP by httpx2, on asyncio or trio."""

import anyio
import httpx2

from berth._core.calls import Fault, Reply, Request

CONNECT_TIMEOUT_S = 5.0
MOST_BYTES = 64 * 1024 * 1024


class HttpxTransport:
    """Connections that are kept between requests."""

    def __init__(self, client: httpx2.AsyncClient | None = None) -> None:
        self._client = client or httpx2.AsyncClient(follow_redirects=False)

    async def send(self, request: Request) -> Reply | Fault:
        try:
            with anyio.fail_after(request.timeout):
                return await self._converse(request)
        except TimeoutError:
            return Fault(f"No answer within {request.timeout:.0f} s.", sent=True, timed_out=True)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            detail = f"{httpx2.URL(request.url).host} can't be reached: {error}"
            return Fault(detail, sent=False, timed_out=isinstance(error, httpx2.ConnectTimeout))
        except httpx2.HTTPError as error:
            return Fault(f"The connection was lost: {error or type(error).__name__}", sent=True)

    async def _converse(self, request: Request) -> Reply:
        timeout = httpx2.Timeout(request.timeout, connect=min(CONNECT_TIMEOUT_S, request.timeout))
        headers, body = dict(request.headers), request.body
        async with self._client.stream(
            request.method, request.url, headers=headers, content=body, timeout=timeout
        ) as response:
            pieces, size = [], 0
            async for piece in response.aiter_bytes():
                pieces.append(piece)
                size += len(piece)
                if size > MOST_BYTES:
                    raise httpx2.DecodingError(f"the answer has more than {MOST_BYTES} bytes")
            found = {name.lower(): value for name, value in response.headers.items()}
            return Reply(response.status_code, found, b"".join(pieces))

    async def close(self) -> None:
        await self._client.aclose()
