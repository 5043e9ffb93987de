"""The wait list over HTTP."""
