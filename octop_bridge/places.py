"""Where things lie: the data folder, a namespace's file in it, the operator's token, the configuration.

`$OCTOP_BRIDGE_HOME` moves all of it. Folders are made 0700 and files 0600; what is there already keeps its mode, since
the variable may name a folder that others use too.
"""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

HOME_VARIABLE = "OCTOP_BRIDGE_HOME"
TOKEN_VARIABLE = "OCTOP_BRIDGE_OPERATOR_TOKEN"  # noqa: S105 - the name of a variable
TOKEN_FILE = "operator.token"  # noqa: S105 - the name of a file
DEFAULT_NAMESPACE = "default"
NAMESPACE_CHARS_MAX = 128

_FOLDER = "octop-bridge"
_TOKEN_BYTES = 32
_SLUG_CHARS_MAX = 40
_HASH_CHARS = 16
_STORE_NAME = re.compile(rf"[a-z0-9-]{{1,{_SLUG_CHARS_MAX}}}-[0-9a-f]{{{_HASH_CHARS}}}\.sqlite")


def home(env: Mapping[str, str] = os.environ) -> Path:
    """The data folder: stores, locks, the operator's token. It may not be there yet."""
    return _chosen(env) or _platform_folder(env, "XDG_DATA_HOME", ".local/share") / _FOLDER


def config_file(env: Mapping[str, str] = os.environ) -> Path:
    """The configuration file that is read where none is named. It may not be there."""
    folder = _chosen(env) or _platform_folder(env, "XDG_CONFIG_HOME", ".config") / _FOLDER
    return folder / "config.toml"


def store_path(home: Path, namespace: str) -> Path:
    """The file of a namespace: no two names share one, whatever characters they are of and however they are cased."""
    import hashlib  # noqa: PLC0415 - not needed for hello
    import unicodedata  # noqa: PLC0415

    name = unicodedata.normalize("NFC", namespace)
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower())[:_SLUG_CHARS_MAX].strip("-") or "store"
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    return home / f"{slug}-{digest}.sqlite"


def lock_path(store: Path) -> Path:
    """The lock file of a store. A link to a store shares its lock."""
    return Path(os.path.realpath(store) + ".lock")


def namespaces(home: Path) -> list[Path]:
    """The stores of a data folder, by file name. The names of their namespaces stand in the files."""
    if not home.is_dir():
        return []
    return sorted(path for path in home.iterdir() if _STORE_NAME.fullmatch(path.name) and path.is_file())


def operator_token(home: Path) -> str:
    """The operator's token, made at first need. Raises OSError where it can be neither read nor made.

    Who can read it may act as the person: the file is 0600, and it appears with its whole content, so that of two
    processes that come at once both read the same.
    """
    import secrets  # noqa: PLC0415 - not needed for hello

    path = home / TOKEN_FILE
    found = _read_token(path)
    if found:
        return found
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(_TOKEN_BYTES) + "\n")
        try:
            os.link(draft, path)
        except FileExistsError:
            if not _read_token(path):
                draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return _read_token(path)


def check_token(home: Path, given: str) -> bool:
    """Whether this is the operator's token. False where none was made: nobody can have been given it."""
    import hmac  # noqa: PLC0415 - not needed for hello

    try:
        token = _read_token(home / TOKEN_FILE)
    except OSError:
        return False
    return bool(token) and hmac.compare_digest(token.encode(), given.encode("utf-8", "surrogatepass"))


def _read_token(path: Path) -> str:
    """The token in the file, empty where there is none."""
    try:
        return path.read_text(encoding="ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return ""


def _chosen(env: Mapping[str, str]) -> Path | None:
    folder = env.get(HOME_VARIABLE)
    return Path(folder).expanduser() if folder else None


def _platform_folder(env: Mapping[str, str], variable: str, below_home: str) -> Path:
    """The folder that the platform gives to programs; a relative XDG path counts as none (XDG base directories)."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    named = Path(env.get(variable, ""))
    return named if named.is_absolute() else Path.home() / below_home
