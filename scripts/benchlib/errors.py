"""What ends a bench."""


class BenchError(Exception):
    """The bench cannot go on; the text is for whoever started it."""
