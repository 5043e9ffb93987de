"""Client of Berth, an open-source GPU rental marketplace: `Client`, `AsyncClient`, typed errors and models.

Everything is imported when it is first named, so that `import berth` takes a few milliseconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from berth._version import __version__ as __version__

if TYPE_CHECKING:
    from berth import errors as errors
    from berth import models as models
    from berth._async.client import AsyncClient as AsyncClient
    from berth._core.retries import RetryPolicy as RetryPolicy
    from berth._sync.client import Client as Client
    from berth.errors import APIError as APIError
    from berth.errors import BerthError as BerthError

_HOMES = {
    "Client": "berth._sync.client",
    "AsyncClient": "berth._async.client",
    "RetryPolicy": "berth._core.retries",
    "APIError": "berth.errors",
    "BerthError": "berth.errors",
}


def __getattr__(name: str) -> object:
    if name in ("errors", "models"):
        return import_module(f"berth.{name}")
    if name not in _HOMES:
        raise AttributeError(f"berth has no {name}")
    found: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*_HOMES, "errors", "models", "__version__"])
