"""Lines in, lines out: one connection, whatever carries it."""
