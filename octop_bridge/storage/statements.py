"""The named SQL statements of the store, compiled for one database.

A file of `queries/` holds one concern. Each statement stands under a line `-- name: <name>` and ends with `;`. One text
serves both databases: a parameter is `:name`, membership in a list parameter is `{in :name}`. The few statements that
cannot be shared stand twice under one name, `-- name: <name> [sqlite]` and `-- name: <name> [postgres]`.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

Dialect = Literal["sqlite", "postgres"]
QUERIES = Path(__file__).with_name("queries")


class Statement(NamedTuple):
    """SQL as the driver takes it, and which of its parameters are lists."""

    sql: str
    lists: tuple[str, ...]


Statements = Mapping[str, Statement]

_HEADER = re.compile(r"^-- name: ([a-z][a-z0-9_]*)(?: \[(sqlite|postgres)\])?[ \t]*$", re.MULTILINE)
# Strings, quoted names and casts come first so that nothing inside them is taken for a parameter. Every branch starts
# with a literal character: then the scan skips to one of these at C speed, four times faster than with named groups.
_TOKEN = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|::|--[^\n]*|/\*(?:.|\n)*?\*/|\{in :([a-z_]\w*)\}|:([a-z_]\w*)|;|%"""
)
# A name before a bracket is a function (json_each), except after INTO, where it is a table with its columns.
_TABLE = re.compile(r"\b(?:(?:INTO|UPDATE)\s+[a-z_]|(?:FROM|JOIN)\s+[a-z_]\w*\b(?!\s*\())", re.IGNORECASE)


@cache
def load(dialect: Dialect, folder: Path = QUERIES) -> Statements:
    """Every statement of a folder by name, compiled.

    Raises ValueError for a name that stands twice, a statement that does not end with the only `;` it has, and one
    that names a table without binding `:namespace`: such a statement would read other people's rows.
    """
    found: dict[str, Statement] = {}
    for path in sorted(folder.glob("*.sql")):
        preamble, *parts = _HEADER.split(path.read_text("utf-8"))
        if _TOKEN.sub(_without_comment, preamble).strip():
            raise ValueError(f"{path.name}: SQL before the first name")
        for name, only, text in zip(parts[0::3], parts[1::3], parts[2::3], strict=True):
            if only is not None and only != dialect:
                continue
            if name in found:
                raise ValueError(f"{path.name}: {name} is named twice")
            found[name] = compile_statement(f"{path.name}: {name}", text, dialect)
    return found


def compile_statement(where: str, text: str, dialect: Dialect) -> Statement:
    """One statement as the dialect's driver takes it, without comments and `;`. `where` names it in errors."""
    names: set[str] = set()
    lists: list[str] = []
    ends = 0
    postgres = dialect == "postgres"

    def token(match: re.Match[str]) -> str:
        nonlocal ends
        found, members, name = match[0], match[1], match[2]
        if name is not None:
            names.add(name)
            return f"%({name})s" if postgres else found
        if members is not None:
            lists.append(members)
            return f"= ANY(%({members})s)" if postgres else f"IN (SELECT value FROM json_each(:{members}))"
        if found.startswith(("--", "/*")):
            return " "
        ends += found == ";"
        return found.replace("%", "%%") if postgres else found

    sql = _TOKEN.sub(token, text).strip()
    if ends != 1 or not sql.endswith(";"):
        raise ValueError(f"{where}: a statement ends with the only ';' that it has")
    if "namespace" not in names and _TABLE.search(sql):
        raise ValueError(f"{where}: names a table without :namespace")
    return Statement(sql[:-1].rstrip(), tuple(dict.fromkeys(lists)))


def _without_comment(match: re.Match[str]) -> str:
    return "" if match[0].startswith(("--", "/*")) else match[0]
