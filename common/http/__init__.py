"""Shared parts of requests, responses and outgoing requests."""
