"""localstripe on loopback alone, without its file: `python -m tests.billing.payments.local_stripe PORT`."""

import sys
from typing import Any

from aiohttp import web
from localstripe import resources
from localstripe.server import app


class Store(resources.Store):  # type: ignore[misc]  # localstripe has no type information
    """In memory alone."""

    def dump_to_disk(self) -> None:
        """Two tests at once would share the file."""


def main(port: int) -> None:
    resources.store.__class__ = Store
    made = resources.PaymentIntent._api_create.__func__

    def without_newer_names(cls: Any, /, allowed_payment_method_types: Any = None, **values: Any) -> Any:
        """It is older than this parameter, and refuses what it does not know."""
        return made(cls, **values)

    resources.PaymentIntent._api_create = classmethod(without_newer_names)
    web.run_app(app, host="127.0.0.1", port=port, print=None)


if __name__ == "__main__":
    main(int(sys.argv[1]))
