"""Benchmarks: each figure with a floor measured in the same run, since machines vary between runs."""

import devserver.postgres  # noqa: F401 (sets a runtime folder where the machine has none, before its library looks for it)
