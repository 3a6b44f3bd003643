"""What is generated from the table fits the table, and stays in step."""

import json

import jsonschema
import msgspec
import pytest

from octop_bridge import __main__ as command
from octop_bridge import dispatch, schema, settings
from octop_bridge.protocol import messages as wire


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "README.md").write_text(
        "Before\n<!-- methods -->\nstale\n<!-- /methods -->\nBetween\n<!-- settings -->\n<!-- /settings -->\nAfter\n"
    )
    return tmp_path


def validator(method):
    whole = schema.method_schema(dispatch.METHODS[method])
    return jsonschema.Draft202012Validator(whole)


@pytest.mark.parametrize("method", dispatch.TABLE, ids=lambda method: method.name)
def test_every_schema_is_a_schema_and_says_what_it_is_about(method):
    whole = schema.method_schema(method)
    jsonschema.Draft202012Validator.check_schema(whole)
    assert whole["description"]
    for name, part in whole["$defs"].items():
        assert part["description"], name


def test_a_schema_takes_what_the_bridge_takes_and_nothing_else():
    result = {"hits": [], "time_window": None, "took_ms": 1, "arms": {}, "degraded": []}
    check = validator("memory.search")
    assert check.is_valid({"params": {"query": "tea", "identity": {"user_id": "ana"}, "limit": 5}, "result": result})
    for wrong in ({}, {"query": "tea", "limit": 0}, {"query": "tea", "sessionId": "s"}, {"query": 5}):
        assert not check.is_valid({"params": wrong, "result": result})
    del result["took_ms"]
    assert not check.is_valid({"params": {"query": "tea"}, "result": result})


def test_changes_are_told_apart_by_their_kind():
    check = validator("memory.correct")
    result = {
        "atom": msgspec.to_builtins(
            wire.AtomView(
                id="at",
                version=1,
                owner="o",
                type="Fact",
                text="t",
                status="current",
                subject="s",
                slot=None,
                value=None,
                valid_from_ms=None,
                valid_to_ms=None,
                recorded_ms=1,
                event_ms=1,
                evidence=[],
                successor=None,
            )
        ),
        "successor": None,
        "tombstones": [],
        "lifted": [],
    }
    base = {"atom_id": "at", "reviewer": "Kim", "reason": "wrong"}
    for change in ({"kind": "replace", "text": "x"}, {"kind": "retire"}):
        check.validate({"params": {**base, "change": change}, "result": result})
    for change in ({"kind": "replace"}, {"kind": "restore"}, {"kind": "retire", "text": "x"}):
        assert not check.is_valid({"params": {**base, "change": change}, "result": result})


def test_docstrings_of_fields_are_published():
    text = json.dumps(schema.method_schema(dispatch.METHODS["memory.capture"]))
    assert "Idempotency key" in text


def test_the_openrpc_document_lists_the_table():
    document = schema.openrpc()
    assert [method["name"] for method in document["methods"]] == [method.name for method in dispatch.TABLE]
    known = document["components"]["schemas"]
    refs = set()

    def collect(value):
        if isinstance(value, dict):
            refs.update(text for key, text in value.items() if key == "$ref")
            for part in value.values():
                collect(part)
        elif isinstance(value, list):
            for part in value:
                collect(part)

    collect(document)
    errors = document["components"]["errors"]
    for ref in refs:
        kind, _, name = ref.removeprefix("#/components/").partition("/")
        assert name in {"schemas": known, "errors": errors}[kind], ref
    codes = [error["code"] for error in errors.values()]
    assert len(set(codes)) == len(codes)
    assert {-32700, -32602, -32003, -32009} <= set(codes)
    search = next(method for method in document["methods"] if method["name"] == "memory.search")
    assert search["params"][0] == {"name": "query", "required": True, "schema": {"type": "string"}}
    for method in document["methods"]:
        required = [param["required"] for param in method["params"]]
        assert required == sorted(required, reverse=True), "required ones come first"


def test_it_is_the_same_twice():
    assert schema.files() == schema.files()


def test_write_brings_a_checkout_up_to_date_and_check_says_so(checkout, capsys):
    assert command.main(["schema", "--check", "--root", str(checkout)]) == 1
    assert "schemas/memory.capture.json" in capsys.readouterr().err
    assert command.main(["schema", "--root", str(checkout)]) == 0
    assert command.main(["schema", "--check", "--root", str(checkout)]) == 0
    readme = (checkout / "README.md").read_text()
    assert readme.startswith("Before\n<!-- methods -->\n| method |")
    assert "stale" not in readme
    assert readme.endswith("<!-- /settings -->\nAfter\n")
    assert "| `memory.search` | HMP |" in readme
    for row in settings.rows():
        assert f"| `{row.name}` |" in readme
    assert schema.write(checkout) == []


def test_a_changed_a_missing_and_a_left_over_file_are_each_named(checkout, capsys):
    command.main(["schema", "--root", str(checkout)])
    changed = checkout / "schemas" / "memory.get.json"
    changed.write_text(changed.read_text().replace("markdown", "html"))
    (checkout / "schemas" / "memory.store.json").unlink()
    (checkout / "schemas" / "memory.gone.json").write_text("{}")
    capsys.readouterr()
    assert command.main(["schema", "--check", "--root", str(checkout)]) == 1
    told = capsys.readouterr().err
    for name in ("memory.get", "memory.store", "memory.gone"):
        assert f"schemas/{name}.json" in told
    assert "memory.search" not in told
    command.main(["schema", "--root", str(checkout)])
    assert not (checkout / "schemas" / "memory.gone.json").exists()
    assert command.main(["schema", "--check", "--root", str(checkout)]) == 0


def test_a_readme_that_lost_its_marker_is_no_match(checkout, capsys):
    command.main(["schema", "--root", str(checkout)])
    readme = checkout / "README.md"
    readme.write_text(readme.read_text().replace("<!-- settings -->", ""))
    assert command.main(["schema", "--check", "--root", str(checkout)]) == 1
    assert "<!-- settings -->" in capsys.readouterr().err


def test_outside_of_a_checkout_nothing_is_written(tmp_path, capsys):
    assert command.main(["schema", "--root", str(tmp_path)]) == 2
    assert "--root" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
