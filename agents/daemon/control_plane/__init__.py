"""Connections to the control plane: signed requests, WebSockets, and tests of ports and speed."""
