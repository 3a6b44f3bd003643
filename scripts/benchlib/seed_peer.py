"""A store of octop-memory with so many facts: `python -m benchlib.seed_peer STORE COUNT CORPUS`.

Written through its backend's public saves in transactions of a thousand facts: what its promotion writes of a fact is
the raw event, the atom, and a leaf of its tree under the branch of its entity.
"""

import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from octop_memory import Memory  # type: ignore[import-not-found]
from octop_memory.types import (  # type: ignore[import-not-found]
    Alias,
    AtomCard,
    Entity,
    MemoryNode,
    RawEvent,
)

from benchlib import corpus
from benchlib.systems import NAMESPACE, USER

_FACTS_TOGETHER = 1000


class Seeder:
    """Writes facts, each under the entity that it is about."""

    def __init__(self, store: str) -> None:
        self._backend = Memory(namespace=NAMESPACE, backend_config={"db_path": store}).backend
        self._now = datetime.now(UTC)
        self._entities: set[str] = set()

    def write(self, facts: Sequence[corpus.Fact]) -> None:
        """Write all of them."""
        for at in range(0, len(facts), _FACTS_TOGETHER):
            with self._backend.transaction():
                for number, fact in enumerate(facts[at : at + _FACTS_TOGETHER], at):
                    self._fact(number, fact)
        self._backend.close()

    def _fact(self, number: int, fact: corpus.Fact) -> None:
        entity, text, said = fact
        if entity not in self._entities:
            self._entity(entity)
        when = datetime.fromisoformat(said)
        event_id, atom_id = f"event-{number}", f"atom-{number}"
        self._backend.save_raw(
            RawEvent(
                id=event_id,
                host="bench",
                session_id=f"s{number // 20}",
                thread_id=None,
                user=USER,
                timestamp=when,
                event_type="user_message",
                content=text,
                payload={"role": "user"},
            )
        )
        self._backend.save_atom(
            AtomCard(
                id=atom_id,
                entity_id=f"entity-{entity}",
                candidate_id=f"candidate-{number}",
                raw_event_ids=[event_id],
                assertion=text,
                verbatim_quote=text[:200],
                quote_event_id=event_id,
                search_terms=[entity],
                occurred_at=when,
                confidence="medium",
                importance="medium",
                created_at=when,
            )
        )
        self._node(f"leaf-{number}", "leaf", parent=f"branch-{entity}", atom_id=atom_id)

    def _entity(self, name: str) -> None:
        entity_id = f"entity-{name}"
        self._entities.add(name)
        self._backend.save_entity(
            Entity(
                id=entity_id,
                entity_type="Project",
                canonical_name=name,
                aliases=[],
                atom_count=0,
                created_at=self._now,
            )
        )
        self._backend.save_alias(
            Alias(
                alias=name.lower(),
                entity_id=entity_id,
                entity_type="Project",
                created_by="rule",
                created_at=self._now,
            )
        )
        self._node(f"branch-{name}", "branch", content=name, metadata={"entity_id": entity_id})

    def _node(
        self,
        node_id: str,
        level: str,
        *,
        parent: str | None = None,
        content: str = "",
        atom_id: str | None = None,
        metadata: dict[str, str] | None = None,
    ) -> None:
        self._backend.save_node(
            MemoryNode(
                id=node_id,
                parent_id=parent,
                level=level,
                content=content,
                topic=None,
                conversation_id=None,
                created_at=self._now,
                updated_at=self._now,
                metadata=metadata or {},
                atom_id=atom_id,
            )
        )


if __name__ == "__main__":
    began = time.perf_counter()
    file, count, folder = sys.argv[1:]
    Seeder(file).write(corpus.load(Path(folder)).facts(int(count)))
    print(f"seeded {count} facts in {time.perf_counter() - began:.1f} s", file=sys.stderr)
