"""Usage, alerts and events over HTTP."""
