"""docs/lifecycles.md is what the tables say."""

from io import StringIO
from pathlib import Path

from django.conf import settings
from django.core.management import call_command

from instances.states import INSTANCE_MACHINE


def test_the_page_is_printed_from_the_tables() -> None:
    printed = StringIO()
    call_command("print_state_diagrams", stdout=printed)
    page = Path(settings.BASE_DIR, "docs", "lifecycles.md").read_text(encoding="utf-8")
    assert printed.getvalue() == page, "run: manage.py print_state_diagrams > docs/lifecycles.md"
    for origin, targets in INSTANCE_MACHINE.table.items():
        for target in targets:
            assert f"    {origin} --> {target}\n" in page
