"""Triggers that clear a message whose text was changed without it.

During an upgrade, processes of the release before know the text's column alone. Such a row then shows its new text instead
of the message that it had before. A process of now writes both columns together; where it writes the same message in other
words than before, the row shows these words in English until its next message.
"""

from typing import Any, Final

from django.db import transaction

# (table, its text, the message beside it): rows whose text may change. Those of events never do.
CHANGING: Final = (
    ("instances_instance", "failure_detail", "failure_message"),
    ("instances_instance", "setback_detail", "setback_message"),
    ("instances_instance", "progress", "progress_message"),
    ("instances_move", "failure_detail", "failure_message"),
    ("instances_logread", "failure", "failure_message"),
    ("storage_operation", "detail", "message"),
    ("storage_volume", "failure_detail", "failure_message"),
    ("storage_snapshot", "failure_detail", "failure_message"),
    ("storage_volumemove", "failure_detail", "failure_message"),
    ("storage_sync", "failure_detail", "failure_message"),
    ("storage_image", "failure", "failure_message"),
)
_CLEAR: Final = """
CREATE OR REPLACE FUNCTION clear_stale_{message}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.{message} := NULL;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER clear_stale_{message} BEFORE UPDATE OF {text} ON {table} FOR EACH ROW
    WHEN (NEW.{text} IS DISTINCT FROM OLD.{text} AND NEW.{message} = OLD.{message})
    EXECUTE FUNCTION clear_stale_{message}();
"""


def clear_stale_messages(connection: Any) -> None:
    """Create the triggers, each in a transaction of its own, so that no table is locked for longer than that."""
    for table, text, message in CHANGING:
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            cursor.execute(_CLEAR.format(table=table, text=text, message=message))
