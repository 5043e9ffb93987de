"""Which modules may query, change states, open transactions and send tasks: rules that import-linter cannot check."""

import ast
import re

from tests.architecture.source import FUNCTIONS, Source, calls, of_apps, sources

MAY_QUERY = {"models", "selectors", "services", "admin"}
ENTRY_POINTS = re.compile(r"(^|_)(views|api)$|^tasks$")
ENTRY_POINT_LINES = 15
HTTP = ("django.http", "django.forms", "django.shortcuts", "rest_framework")
TRANSACTIONS = {"atomic", "use_case", "joining", "set_rollback", "select_for_update"}


def test_only_models_selectors_services_and_admin_query() -> None:
    wrong = [
        source.at(node)
        for source in of_apps()
        if not source.feature and not MAY_QUERY & set(source.names)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and node.attr in ("objects", "_default_manager")
    ]
    assert wrong == []


def _writes_state(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(isinstance(target, ast.Attribute) and target.attr == "state" for target in targets)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("update", "bulk_update"):
        return any(keyword.arg == "state" for keyword in node.keywords)
    return False


def test_state_is_written_in_one_place() -> None:
    wrong = [
        source.at(node)
        for source in [*of_apps(), *(found for found in sources() if found.names[0] == "common")]
        if source.path != "common/transitions.py"
        for node in ast.walk(source.tree)
        if _writes_state(node)
    ]
    assert wrong == []


def test_nothing_is_imported_inside_a_function() -> None:
    wrong = [
        source.at(node)
        for source in sources()
        for function in source.functions()
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert wrong == []


def test_only_common_jobs_sends_tasks() -> None:
    senders = {"delay", "apply_async", "send_task"}
    wrong = [
        source.at(call)
        for source in sources()
        if source.path != "common/jobs.py"
        for call, name in calls(source.tree)
        if name in senders
    ]
    assert wrong == []


def test_every_enqueued_name_is_a_task() -> None:
    tasks = {
        str(word.value)
        for source in sources()
        if source.names[-1] == "tasks"
        for call, name in calls(source.tree)
        if name == "shared_task"
        for word in (keyword.value for keyword in call.keywords if keyword.arg == "name")
        if isinstance(word, ast.Constant)
    }
    wrong = [
        source.at(call)
        for source in sources()
        for call, name in calls(source.tree)
        if name == "enqueue" and not (isinstance(call.args[0], ast.Constant) and call.args[0].value in tasks)
    ]
    assert tasks
    assert wrong == []


def test_time_is_read_from_common_clock_alone() -> None:
    domain = [source for source in of_apps() if source.names[0] != "agents" or "gateway" in source.names]
    wrong = [
        source.at(node)
        for source in domain
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute)
        and node.attr in ("now", "utcnow", "today")
        and isinstance(node.value, ast.Name)
        and node.value.id in ("timezone", "datetime", "date")
    ]
    assert wrong == []


def _entry_points() -> list[Source]:
    return [source for source in of_apps() if ENTRY_POINTS.search(source.names[-1]) or "views" in source.names[:-1]]


def test_entry_points_are_found_by_their_names() -> None:
    """The positive control of the two below."""
    found = {source.path for source in _entry_points()}
    assert {
        "instances/web/access/views.py",
        "instances/web/volumes/api.py",
        "instances/web/views.py",
        "billing/tasks.py",
    } <= found
    assert "instances/orders/rent.py" not in found


def test_entry_points_open_no_transactions() -> None:
    assert [source.at(call) for source in _entry_points() for call, name in calls(source.tree) if name in TRANSACTIONS] == []


def test_entry_points_are_short() -> None:
    wrong = [
        f"{source.at(function)} {function.name}: {length}"
        for source in _entry_points()
        for function in source.functions()
        if (length := _body_lines(function)) > ENTRY_POINT_LINES
    ]
    assert wrong == []


def test_only_web_modules_import_http() -> None:
    assert [source.at(node) for source in of_apps() if source.feature for node in _http_imports(source.tree)] == []


def _http_imports(tree: ast.AST) -> list[ast.AST]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom | ast.Import)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [name.name for name in node.names])
        if name.startswith(HTTP)
    ]


def _body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Without decorators, signature and docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return 0 if not body else int(body[-1].end_lineno or 0) - body[0].lineno + 1


def test_services_are_called_by_keyword() -> None:
    wrong = [
        f"{source.at(node)} {node.name}"
        for source in of_apps()
        if "services" in source.names or source.feature
        for node in source.tree.body
        if isinstance(node, FUNCTIONS) and not node.name.startswith("_")
        if len(node.args.args) > 3
    ]
    assert wrong == []


def test_locks_wait_for_writers_alone() -> None:
    """`FOR UPDATE` would also wait for everyone who refers to the row by a foreign key."""
    wrong = [
        source.at(call)
        for source in of_apps()
        for call, name in calls(source.tree)
        if name == "select_for_update" and "no_key" not in {keyword.arg for keyword in call.keywords}
    ]
    assert wrong == []


def test_a_breach_is_found() -> None:
    """The positive control of the tests above."""
    seeded = "def f():\n    import os\n    row.state = 'x'\n    rows.update(state='y')\n    task.delay(1)\n"
    tree = ast.parse(seeded)
    assert sum(_writes_state(node) for node in ast.walk(tree)) == 2
    assert len(_http_imports(ast.parse("from django.http import JsonResponse\nimport rest_framework"))) == 2
    assert {"update", "delay"} <= {name for _, name in calls(tree)}
