"""Ids: a prefix and 26 lower-case Crockford characters, sortable by the time they were made (a ULID)."""

import os
import threading

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_RANDOM_BITS = 80
_POOL_BYTES = 4096


class IdMaker:
    """Makes ids that never go backwards within the process, so that their order is the order of arrival."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last_ms = 0
        self._random = 0
        self._pool = b""

    def __call__(self, prefix: str, now_ms: int) -> str:
        """A new id: `prefix_` and 48 bits of time before 80 bits of chance."""
        with self._lock:
            if now_ms > self._last_ms:
                self._last_ms = now_ms
                self._random = int.from_bytes(self._chance(10)) >> 1
            else:
                self._random += 1 + int.from_bytes(self._chance(3))
            number = (self._last_ms << _RANDOM_BITS) | (self._random & ((1 << _RANDOM_BITS) - 1))
        return f"{prefix}_{_base32(number)}"

    def _chance(self, n: int) -> bytes:
        """Random bytes from a pool: a system call an id would cost more than the rest of it."""
        if len(self._pool) < n:
            self._pool = os.urandom(_POOL_BYTES)
        taken, self._pool = self._pool[:n], self._pool[n:]
        return taken


def _base32(number: int) -> str:
    digits = []
    for _ in range(26):
        digits.append(_ALPHABET[number & 31])
        number >>= 5
    return "".join(reversed(digits))
