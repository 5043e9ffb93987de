"""Protocol versions: the agent offers what it speaks, the control plane picks the highest that both know."""

CURRENT = 1
SUPPORTED = (1,)


class VersionMismatch(Exception):
    """No common version: one side must be upgraded."""


def negotiate(offered: list[int]) -> int:
    common = sorted(set(offered) & set(SUPPORTED))
    if not common:
        raise VersionMismatch(
            f"The other side speaks {sorted(offered)}, this side {list(SUPPORTED)}: upgrade the older one."
        )
    return common[-1]
