"""The few calls of Berth's API that a backend needs, over `requests`, which dstack has anyway."""

import time
from typing import Any

import requests

TIMEOUT_S = 30
TRIES = 3
AGAIN = frozenset((429, 502, 503, 504))


class BerthRefusal(Exception):
    """The market refused a request; `code` is stable."""

    def __init__(self, status: int, code: str, detail: str):
        super().__init__(f"{detail} ({code})")
        self.status = status
        self.code = code


class BerthUnreachable(Exception):
    """No answer came, so that nobody knows whether the market has acted."""


class BerthClient:
    """A market and a token. POST requests are repeated with their own Idempotency-Key, so that the market acts once."""

    def __init__(self, url: str, token: str):
        self.url = url.rstrip("/")
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Bearer {token}"
        self._session.headers["User-Agent"] = "dstack-berth"

    def instances(self) -> list[dict[str, Any]]:
        return self._all("/instances")

    def instance(self, instance_id: str) -> dict[str, Any]:
        return self._call("GET", f"/instances/{instance_id}")

    def access(self, instance_id: str) -> dict[str, Any]:
        return self._call("GET", f"/instances/{instance_id}/access")

    def release(self, instance_id: str) -> dict[str, Any]:
        return self._call("DELETE", f"/instances/{instance_id}")

    def image(self, name: str, key: str) -> str:
        """Return the id of an image: the market's own by its slug, one that was added before, or one that is added now."""
        found = [each for each in self._all("/images") if name in (each["slug"], each["name"])]
        if found:
            return str(found[0]["id"])
        return str(self._call("POST", "/images", {"name": name}, key=key)["id"])

    def quote(self, body: dict[str, Any], key: str) -> dict[str, Any]:
        return self._call("POST", "/quotes", body, key=key)

    def order(self, body: dict[str, Any], key: str) -> dict[str, Any]:
        return self._call("POST", "/instances", body, key=key)

    def _all(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        where: str | None = f"{path}?limit=200"
        while where is not None:
            page = self._call("GET", where)
            if isinstance(page, list):
                return page
            found += page["results"]
            following = page["next"]
            where = following.partition("/api/v1")[2] if following else None
        return found

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None, *, key: str = "") -> Any:
        headers = {"Idempotency-Key": key} if key else {}
        for attempt in range(TRIES):
            last = attempt == TRIES - 1
            try:
                answer = self._session.request(
                    method, f"{self.url}/api/v1{path}", json=body, headers=headers, timeout=TIMEOUT_S, allow_redirects=False
                )
            except requests.RequestException as error:
                if last:
                    raise BerthUnreachable(f"{method} {path}: no answer ({type(error).__name__})") from error
            else:
                if answer.status_code not in AGAIN:
                    return _read(answer)
                if last:
                    raise BerthUnreachable(f"{method} {path}: the market can't answer now ({answer.status_code})")
            time.sleep(0.5 * 2**attempt)
        raise AssertionError("the last attempt returns or raises")


def _read(answer: requests.Response) -> Any:
    try:
        body = answer.json()
    except ValueError:
        body = None
    if answer.ok and body is not None:
        return body
    problem = body if isinstance(body, dict) else {}
    code = str(problem.get("code", "unknown"))
    detail = str(problem.get("detail") or problem.get("title") or f"HTTP status {answer.status_code}")
    raise BerthRefusal(answer.status_code, code, detail)
