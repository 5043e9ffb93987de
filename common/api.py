"""The API's common ground: problem documents and cursor pages."""

from rest_framework.pagination import CursorPagination as CursorPagination
from rest_framework.views import exception_handler as problem_handler

__all__ = ["CursorPagination", "problem_handler"]
