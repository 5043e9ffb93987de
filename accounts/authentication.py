"""Who asks: bearer token or signed-in session."""

from rest_framework.authentication import SessionAuthentication as SessionAuthentication
from rest_framework.authentication import TokenAuthentication as TokenAuthentication
