"""The agent's way to the market: signed requests, WebSockets, tests of ports and speed."""
