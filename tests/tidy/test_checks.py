"""The checks that a reader would otherwise make by hand, each a command."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent

COMMANDS = {
    "ruff finds nothing": ["ruff", "check", "."],
    "the code is formatted": ["ruff", "format", "--check", "."],
    "mypy finds nothing": ["mypy"],
    "pyright finds nothing on the wire": ["pyright"],
    "the rooms keep their walls": ["lint-imports"],
    "schemas and README tables are what the table gives": ["octop-bridge", "schema", "--check"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_checks(command):
    done = subprocess.run([BIN / command[0], *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
