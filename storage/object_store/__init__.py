"""What the market itself asks of a renter's object storage: whether a connection to it works."""

from common.object_store import Place
from storage.object_store.client import Checked, check_place
from storage.object_store.names import parse_bucket, parse_endpoint, parse_folder

__all__ = ["Checked", "Place", "check_place", "parse_bucket", "parse_endpoint", "parse_folder"]
