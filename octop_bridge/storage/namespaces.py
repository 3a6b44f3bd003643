"""Whose a store's file is: the names of namespaces, which no file name can hold."""

import sqlite3
from pathlib import Path

from octop_bridge.storage.sqlite_connection import connect_reader, storage_error

_BUSY_TIMEOUT_S = 1.0


def namespaces_in(path: Path) -> list[str]:
    """The namespaces that a file holds, none where it was never used or is no store. Raises StorageError.

    The only statement without `:namespace`: it is asked by those who do not know it yet.
    """
    try:
        connection = connect_reader(path.absolute(), busy_timeout_s=_BUSY_TIMEOUT_S)
        try:
            return [row[0] for row in connection.execute("SELECT DISTINCT namespace FROM meta ORDER BY namespace")]
        finally:
            connection.close()
    except sqlite3.Error as error:
        meant = storage_error(error)
        if "no such table" in str(error):
            return []
        raise meant from error
