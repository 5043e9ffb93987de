"""`manage.py print_state_diagrams > docs/lifecycles.md`: print that page from the transition tables."""

from typing import Any

from django.core.management.base import BaseCommand

from instances.state_diagrams import state_diagrams_page


class Command(BaseCommand):
    help = "Print the life cycles of instances and hosts as Markdown."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(state_diagrams_page(), ending="")
