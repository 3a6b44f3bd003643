"""The README's commands, run: what a reader sees there is what a reader gets."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SESSION = re.compile(r"```console\n(.*?)```", re.DOTALL)


def steps(text):
    """Commands with the output printed under each."""
    found = []
    for session in SESSION.findall(text):
        for line in session.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def settled(text):
    """The text without what differs from run to run: ids, times, paths."""
    text = re.sub(r"\b(ev|cd|at|en|tb|jr)_[0-9a-z]{26}", r"\1_…", text)
    text = re.sub(r"\b(ev|cd|at|en|tb|jr)_…", r"\1_…", text)
    text = re.sub(r"\b1[0-9]{12}\b", "<ms>", text)
    text = re.sub(r"\b\d{4}-\d{2}-\d{2}( \d\d:\d\d)?\b", "<day>", text)
    text = re.sub(r'("took_ms": )[\d.]+', r"\1<n>", text)
    return [line.rstrip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("readme", ["README.md"])
def test_the_readme_shows_what_happens(readme, tmp_path):
    text = (ROOT / readme).read_text(encoding="utf-8")
    assert text.count("\n") <= 200
    env = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OCTOP_BRIDGE_HOME": str(tmp_path / "home"),
        "TZ": "UTC",
        "NO_COLOR": "1",
    }
    ran = 0
    for command, expected in steps(text):
        if command.startswith(("scripts/", "pip ", "git ")):
            continue
        token = tmp_path / "home" / "operator.token"
        if token.exists():
            env["OCTOP_BRIDGE_OPERATOR_TOKEN"] = token.read_text().strip()
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=ROOT,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        shown = settled("\n".join(expected))
        got = settled(done.stdout + done.stderr)
        assert got == shown, command
        ran += 1
    assert ran >= 4
