"""What is generated from the table: JSON Schemas, the OpenRPC document, the README's tables of methods and settings."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from octop_bridge import dispatch, settings
from octop_bridge.protocol import errors
from octop_bridge.protocol import messages as wire

DIALECT = "https://json-schema.org/draft/2020-12/schema"
OPENRPC_VERSION = "1.3.2"
_LETTERS = {"host": "H", "model": "M", "person": "P"}


def files() -> dict[str, str]:
    """Content of every generated file, by its path below the checkout."""
    found = {f"schemas/{method.name}.json": _text(method_schema(method)) for method in dispatch.TABLE}
    found["schemas/openrpc.json"] = _text(openrpc())
    return found


def method_schema(method: dispatch.Method) -> dict[str, Any]:
    """JSON Schema (Draft 2020-12) of `{params, result}` of one method."""
    (params, result), components = msgspec.json.schema_components(
        (method.params, method.result), ref_template="#/$defs/{name}"
    )
    return {
        "$schema": DIALECT,
        "title": method.name,
        "description": _doc(method.params),
        "type": "object",
        "properties": {"params": params, "result": result},
        "required": ["params", "result"],
        "$defs": _described(components),
    }


def openrpc() -> dict[str, Any]:
    """The OpenRPC document: every method with its parameters by name."""
    kinds = [kind for method in dispatch.TABLE for kind in (method.params, method.result)]
    _, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    schemas = _described(components)
    return {
        "openrpc": OPENRPC_VERSION,
        "info": {
            "title": "octop-bridge",
            "description": "A memory for LLM agents, over JSON-RPC 2.0: one JSON text a line.",
            "version": str(wire.PROTOCOL_VERSION),
            "license": {"name": "MIT"},
        },
        "methods": [_openrpc_method(method, schemas) for method in dispatch.TABLE],
        "components": {"schemas": schemas, "errors": {error.__name__: _error(error) for error in _errors()}},
    }


def readme_tables() -> dict[str, str]:
    """Markdown tables by the name of the marker between which they stand."""
    return {"methods": _methods_table(), "settings": _settings_table()}


def write(root: Path) -> list[str]:
    """Bring a checkout up to date; the paths that were changed. Files of methods that are gone are removed."""
    changed = differing(root)
    wanted = wanted_in(root)
    for name in changed:
        path = root / name
        if name in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[name], encoding="utf-8")
        else:
            path.unlink()
    return changed


def differing(root: Path) -> list[str]:
    """Paths in a checkout that are not what the table gives, sorted."""
    wanted = wanted_in(root)
    found = {f"schemas/{path.name}" for path in (root / "schemas").glob("*.json")}
    return sorted(name for name in found | wanted.keys() if _content(root / name) != wanted.get(name))


def missing_markers(root: Path) -> list[str]:
    """Markers that the README of a checkout lacks; without them its tables go stale unseen."""
    readme = _content(root / "README.md")
    return [] if readme is None else [name for name in readme_tables() if f"<!-- {name} -->\n" not in readme]


def wanted_in(root: Path) -> dict[str, str]:
    """What should stand in a checkout: the generated files, and its README with the tables in it."""
    wanted = files()
    readme = _content(root / "README.md")
    if readme is not None:
        for marker, table in readme_tables().items():
            readme = re.sub(
                rf"(<!-- {marker} -->\n).*?(<!-- /{marker} -->)",
                lambda found, table=table: f"{found[1]}{table}\n{found[2]}",  # type: ignore[misc]
                readme,
                flags=re.DOTALL,
            )
        wanted["README.md"] = readme
    return wanted


def _openrpc_method(method: dispatch.Method, schemas: dict[str, Any]) -> dict[str, Any]:
    params = schemas[method.params.__name__]
    required = params.get("required", [])
    return {
        "name": method.name,
        "summary": _summary(method.params),
        "description": _doc(method.params),
        "paramStructure": "by-name",
        "params": [
            {"name": name, "required": name in required, "schema": schema}
            for name, schema in sorted(params["properties"].items(), key=lambda item: item[0] not in required)
        ],
        "result": {
            "name": method.result.__name__,
            "schema": {"$ref": f"#/components/schemas/{method.result.__name__}"},
        },
        "errors": [{"$ref": f"#/components/errors/{error.__name__}"} for error in _errors()],
        "x-audience": sorted(method.audience),
    }


def _errors() -> Iterator[type[errors.BridgeError]]:
    """The error classes in the order of their tree, one a code."""
    for found in vars(errors).values():
        direct = inspect.isclass(found) and errors.BridgeError in found.__bases__
        if direct:
            yield found


def _error(error: type[errors.BridgeError]) -> dict[str, Any]:
    return {"code": error.code, "message": error.kind, "data": {"kind": error.kind, "meaning": _doc(error)}}


def _described(components: dict[str, Any]) -> dict[str, Any]:
    """Components with the docstrings of their fields."""
    docs = _field_docs()
    for name, component in components.items():
        for field, schema in component.get("properties", {}).items():
            if doc := docs.get((name, field)):
                schema["description"] = doc
    return components


@cache
def _field_docs() -> dict[tuple[str, str], str]:
    """Docstrings that stand below a field, by class and field: they are not kept at run time."""
    found: dict[tuple[str, str], str] = {}
    for node in ast.parse(inspect.getsource(wire)).body:
        if not isinstance(node, ast.ClassDef):
            continue
        for field, below in zip(node.body, node.body[1:], strict=False):
            is_doc = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_doc:
                found[node.name, field.target.id] = inspect.cleandoc(ast.literal_eval(below.value))  # type: ignore[attr-defined]
    return found


def _methods_table() -> str:
    lines = ["| method | for | parameters | what it does |", "|---|---|---|---|"]
    for method in dispatch.TABLE:
        for_whom = "".join(letter for role, letter in _LETTERS.items() if role in method.audience)
        fields = msgspec.structs.fields(method.params)
        names = ", ".join(f"`{field.encode_name}{'' if field.required else '?'}`" for field in fields)
        lines.append(f"| `{method.name}` | {for_whom} | {names} | {_cell(_summary(method.params))} |")
    return "\n".join(lines)


def _settings_table() -> str:
    lines = ["| setting | type | default | what it is |", "|---|---|---|---|"]
    for row in settings.rows():
        default = f"`{row.default}`" if row.default != "none" else "–"
        lines.append(f"| `{row.name}` | {row.type} | {_cell(default)} | {_cell(row.help)} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _doc(kind: type) -> str:
    return inspect.getdoc(kind) or ""


def _summary(kind: type) -> str:
    """The first line of a docstring."""
    return _doc(kind).partition("\n")[0]


def _content(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
