"""The text index made anew from evidence and atoms: it is a projection and can always be dropped."""

from octop_bridge.storage import textindex
from octop_bridge.storage.apply import atom_terms
from octop_bridge.storage.engine import Tx
from octop_bridge.storage.evidence import index_rows

_PAGE = 500


async def rebuild(tx: Tx) -> dict[str, int]:
    """Drop the index and write it again; rows by layer."""
    await textindex.drop_all(tx)
    written: dict[str, int] = {}
    after = ""
    while page := await tx.all("every_event", after=after, limit=_PAGE):
        for event_id, owner, content, speaker_name, chat_type, hidden in page:
            layer: textindex.IndexLayer = "raw_cited" if hidden else "raw"
            await textindex.add(tx, owner, layer, index_rows(event_id, content, speaker_name, chat_type))
            written[layer] = written.get(layer, 0) + 1
        after = page[-1][0]
    after = ""
    while page := await tx.all("every_atom", after=after, limit=_PAGE):
        for atom_id, owner, text, subject, status in page:
            shelf: textindex.IndexLayer = "atom" if status == "current" else "atom_past"
            await textindex.add(tx, owner, shelf, [textindex.IndexRow(atom_id, 0, atom_terms(text, subject))])
            written[shelf] = written.get(shelf, 0) + 1
        after = page[-1][0]
    return written
