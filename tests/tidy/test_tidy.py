"""What the house keeps in order: sizes, names, promises, the code map."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "octop_bridge"
SOURCES = sorted(PACKAGE.rglob("*.py"))
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
LONG = {"protocol/messages.py": 700}
"""What travels is one list, read from top to bottom."""
BANNED = re.compile(r"(Manager|Service|Helper|Util|Utils|Base|Impl|Data|Info)$")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_and_functions_fit_a_screen_and_have_honest_names(path):
    text = path.read_text(encoding="utf-8")
    longest = LONG.get(str(path.relative_to(PACKAGE)), FILE_LINES_MAX)
    assert text.count("\n") <= longest, "is it still one room?"
    assert not re.search(r"\b(TODO|FIXME|XXX)\b", text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < FUNCTION_LINES_MAX, f"{node.name} is too long"
        if isinstance(node, ast.ClassDef):
            assert not BANNED.search(node.name), node.name


def test_every_statement_names_its_namespace():
    from octop_bridge.storage.statements import load

    for name, sql in load("sqlite").items():
        assert ":namespace" in str(sql), name


def test_beliefs_are_read_through_their_views_alone():
    text = (PACKAGE / "storage" / "queries" / "beliefs.sql").read_text(encoding="utf-8")
    allowed = {"versions_known_at", "insert_version", "end_version", "insert_atom", "findings_of"}
    for block in re.split(r"^-- name: ", text, flags=re.MULTILINE)[1:]:
        name, _, sql = block.partition("\n")
        if re.search(r"\b(?:FROM|JOIN|INTO|UPDATE)\s+(?:atoms|atom_versions)\b", sql):
            assert name in allowed, f"{name} reads beliefs past live_atoms and newest_atoms"


def test_every_handler_is_there_and_typed_as_the_table_says():
    import typing

    from octop_bridge import dispatch

    for method in dispatch.TABLE:
        handler = dispatch.handler_of(method)
        hints = typing.get_type_hints(handler, vars(__import__("sys").modules[handler.__module__]) | _verb_names())
        assert hints["params"] is method.params, method.name
        assert method.result in (typing.get_args(hints["return"]) or (hints["return"],)), method.name


def _verb_names():
    from octop_bridge.storage.engine import Row, Tx

    return {"Row": Row, "Tx": Tx}


def test_the_code_map_names_every_module():
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    missing = [
        str(path.relative_to(PACKAGE))
        for path in SOURCES
        if path.name != "__init__.py" and f"`{path.relative_to(PACKAGE)}`" not in text
    ]
    assert not missing
    named = re.findall(r"`((?:\w+/)*\w+\.(?:py|sql))`", text)
    assert not [name for name in named if not (PACKAGE / name).exists() and not list(PACKAGE.rglob(name))]


PROMISES = [
    *(f"PUB-{number:02}" for number in (1, 2, 3, 4, 5, 6, 16, 17, 18, 19, 20, 22, 23, 24)),
    *(f"R{number}" for number in (1, 2, 3, 4, 6, 7, 8, 11, 13, 14, 15, 16, 17, 66, 67, 76, 77, 78, 79, 80, 81, 82, 86)),
    *(f"octop-P{number}" for number in (1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17)),
    *(f"octop-S{number}" for number in (1, 2, 3, 4, 5, 8, 12)),
    *(f"octop-{name}" for name in ("T1", "T5", "R1", "R3", "R5", "R7", "R8", "R9", "H1", "H2", "H3", "H4", "H5")),
]


def test_every_promise_has_a_test():
    marked = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        marked |= set(re.findall(r'promise\("([\w-]+)"\)', path.read_text(encoding="utf-8")))
    assert not [promise for promise in PROMISES if promise not in marked]
