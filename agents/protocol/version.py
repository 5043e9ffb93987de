"""Version negotiation: the agent offers versions, the control plane picks the highest in common."""

CURRENT = 1
SUPPORTED = (1,)


class VersionMismatch(Exception):
    """The two sides have no protocol version in common, so that one must be upgraded."""


def negotiate(offered: list[int]) -> int:
    common = sorted(set(offered) & set(SUPPORTED))
    if not common:
        raise VersionMismatch(
            f"The other side speaks {sorted(offered)}, this side {list(SUPPORTED)}: upgrade the older one."
        )
    return common[-1]
