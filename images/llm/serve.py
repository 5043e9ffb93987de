"""Run `transformers serve`, which has no keys of its own, behind the check of the key."""

import sys
from typing import Any

from berth_key import AskForKey
from transformers.cli import transformers as command
from transformers.cli.serving import server

_build = server.build_server


def _with_key(*parts: Any, **named: Any) -> Any:
    app = _build(*parts, **named)
    app.add_middleware(AskForKey)
    return app


server.build_server = _with_key
sys.argv = ["transformers", "serve", *sys.argv[1:]]
command.main()
