"""The contract suite runs over every surface: what a verb answers does not depend on how it was asked."""

import pytest
from contract import harness

SURFACES = ("in-process", "stdio")


@pytest.fixture(params=SURFACES)
def surface(request):
    return request.param


@pytest.fixture
def memory(surface, tmp_path):
    """A context manager that opens a fresh memory: `async with memory() as m`."""
    return lambda **config: harness.open_memory(surface, tmp_path, **config)
