"""Database role of the market: it reads and writes rows, and changes no table, trigger or constraint."""

from typing import Any, Final
from urllib.parse import unquote, urlsplit

from django.db import connection, transaction
from psycopg2.extensions import encrypt_password
from psycopg2.sql import SQL, Identifier, Literal

# Trigger functions that refuse whatever they are called for have names like these.
_REFUSING: Final = ("%\\_append\\_only", "%\\_kept")
# The events in a trigger's type (pg_trigger.h).
_DELETE, _UPDATE = 8, 16

_GRANTS: Final = """
REVOKE CREATE, TEMPORARY ON DATABASE {database} FROM PUBLIC;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role};
REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM {role};
GRANT CONNECT ON DATABASE {database} TO {role};
GRANT USAGE ON SCHEMA public TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};
GRANT SELECT, USAGE ON ALL SEQUENCES IN SCHEMA public TO {role};
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role};
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, USAGE ON SEQUENCES TO {role};
REVOKE INSERT, UPDATE, DELETE ON django_migrations FROM {role};
REVOKE INSERT ON billing_record FROM {role};
REVOKE USAGE ON SEQUENCE billing_record_id_seq FROM {role};
"""
_REFUSED: Final = """
SELECT tgrelid::regclass::text, bit_or(tgtype) FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
WHERE NOT tgisinternal AND proname LIKE ANY(%(refusing)s) GROUP BY tgrelid ORDER BY 1
"""
_KNOWN: Final = """
SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls OR pg_has_role(%(role)s, current_user, 'MEMBER'),
       rolname = current_user
FROM pg_roles WHERE rolname = %(role)s
"""


class RoleRefused(Exception):
    """Raised when the role cannot serve the market; the text says why and what to do."""


def grant_role(url: str) -> str:
    """Create the role in `url` if missing, grant it exactly what the market needs, and return its name.

    The owner of the tables runs it after each migration; it may be repeated.

    Raises:
        RoleRefused: the role is not suitable.
    """
    parts = urlsplit(url)
    role, password = unquote(parts.username or ""), unquote(parts.password or "")
    if not role:
        raise RoleRefused("The address of the market's database names no user.")
    with transaction.atomic(), connection.cursor() as cursor:
        _make(cursor, role, password)
        database = connection.settings_dict["NAME"]
        cursor.execute(SQL(_GRANTS).format(role=Identifier(role), database=Identifier(database)))
        cursor.execute(_REFUSED, {"refusing": list(_REFUSING)})
        for table, events in cursor.fetchall():
            for bit, right in ((_UPDATE, "UPDATE"), (_DELETE, "DELETE")):
                if events & bit:
                    cursor.execute(SQL("REVOKE {} ON {} FROM {}").format(SQL(right), Identifier(table), Identifier(role)))
    return role


def _make(cursor: Any, role: str, password: str) -> None:
    """Create the role; an existing one keeps its password."""
    cursor.execute(_KNOWN, {"role": role})
    known = cursor.fetchone()
    if known is None:
        secret = SQL("PASSWORD {}").format(Literal(_hashed(role, password))) if password else SQL("")
        cursor.execute(SQL("CREATE ROLE {} LOGIN {}").format(Identifier(role), secret))
        return
    mighty, is_owner = known
    if is_owner:
        raise RoleRefused(f"{role} owns the tables: the market needs a role of its own, which owns nothing.")
    if mighty:
        raise RoleRefused(f"{role} is a superuser, may make roles, or is a member of the owner: choose another role.")


def _hashed(role: str, password: str) -> str:
    """Return the password as the server stores it, so that the server's log never contains it."""
    return str(encrypt_password(password, role, scope=connection.connection, algorithm="scram-sha-256"))
