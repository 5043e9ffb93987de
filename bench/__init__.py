"""Benchmarks: each figure beside a floor measured in the same run, since no machine is equally fast from run to run."""

import devserver.postgres  # noqa: F401  (names a runtime folder where the machine has none, before its library looks for it)
