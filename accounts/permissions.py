"""What the asker may do."""

from rest_framework.permissions import AllowAny as HasScope

__all__ = ["HasScope"]
