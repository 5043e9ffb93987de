"""The version, which is the market's."""

__version__ = "0.1.0"
