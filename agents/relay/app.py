"""ASGI application for any server, configured by the environment: `agents.relay.app:app`."""

import os

from agents.relay.config import read_config
from agents.relay.routes import build_app

app = build_app(read_config(os.environ))
