"""Times as parameters take them: ISO-8601 text or epoch milliseconds."""

from octop_bridge.domain.intake import parse_instant
from octop_bridge.protocol import errors
from octop_bridge.protocol import messages as wire


def instant(value: wire.TimeIn | None, field: str, zone: str) -> int | None:
    """Epoch milliseconds of a parameter, None where it is absent. A text without an offset is in `zone`."""
    if value is None:
        return None
    found = parse_instant(value, zone)
    if found is None:
        raise errors.InvalidParamsError(
            f"params.{field}: not a time", path=f"params.{field}", hint="ISO-8601 or epoch milliseconds"
        )
    return found
