"""The demo shows the main job, and says so where a promise does not hold."""

import os
import subprocess
import sys
from pathlib import Path


def test_the_demo_keeps_every_promise_that_it_shows(tmp_path):
    env = {**os.environ, "OCTOP_BRIDGE_HOME": str(tmp_path), "NO_COLOR": "1"}
    done = subprocess.run(
        [Path(sys.executable).parent / "octop-bridge", "demo"],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for word in ("capture", "redact", "parked", "rejected", "Mara"):
        assert word in done.stdout.casefold() or word in done.stdout, word
    assert "AKIAIOSFODNN7EXAMPLE" not in done.stdout
