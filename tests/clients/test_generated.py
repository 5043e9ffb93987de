"""Models and resources of the client are what the generator makes of the present document, operation by operation."""

import ast
from copy import deepcopy

from common.http.openapi import schema
from scripts.client_code.__main__ import PACKAGE, differences, generate
from scripts.client_code.document import Document, Operation


def test_the_generated_modules_are_up_to_date() -> None:
    assert differences(generate(schema())) == [], "run `make client`"


def test_a_change_of_the_document_is_seen() -> None:
    """The positive control."""
    changed = deepcopy(schema())
    changed["components"]["schemas"]["WalletOut"]["properties"]["colour"] = {"type": "string"}
    assert differences(generate(changed)) == ["models/wallet.py"]


def _methods(operation: Operation) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """In the blocking and in the asynchronous client."""
    found: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
    for folder in ("_sync", "_async"):
        tree = ast.parse((PACKAGE / folder / "resources" / f"{operation.resource}.py").read_text(encoding="utf-8"))
        (kind,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
        found += [
            node
            for node in kind.body
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == operation.name
        ]
    return found


def test_every_operation_has_one_method_in_both_clients() -> None:
    operations = Document(schema()).operations
    assert len(operations) > 150
    wrong = [f"{each.method} {each.path}" for each in operations if len(_methods(each)) != 2]
    assert wrong == []


def test_every_post_carries_an_idempotency_key() -> None:
    wrong = [
        f"{each.method} {each.path}"
        for each in Document(schema()).operations
        for method in _methods(each)
        if ("key=self._key(idempotency_key)" in ast.unparse(method)) != (each.method == "POST")
    ]
    assert wrong == []
