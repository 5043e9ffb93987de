"""The ASGI application for any server: `agents.relay.app:app`, set up by the environment."""

import os

from agents.relay.config import read_config
from agents.relay.routes import build_app

app = build_app(read_config(os.environ))
