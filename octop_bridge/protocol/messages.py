"""What travels: parameters and results of every method, in the order of the table.

Wire names are the field names. Results list every field, null where unknown; parameters refuse unknown fields, so that a
misspelt one is an error and not a silent default. Times in results are epoch milliseconds, UTC (`*_ms`).
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

PROTOCOL_VERSION = 1

Limit = Annotated[int, Meta(ge=1, le=200)]
RoleName = Literal["host", "model", "person"]
TimeIn = str | int | float
"""ISO-8601 text or epoch milliseconds."""
NonEmpty = Annotated[str, Meta(min_length=1)]
Label = Annotated[str, Meta(min_length=1, max_length=200)]
Reason = Annotated[str, Meta(max_length=2000)]
ClaimTypeName = Literal["Fact", "Preference", "Decision", "Task", "Instruction", "Event", "Retraction"]
LayerName = Literal["atom", "derived", "raw", "host"]


class Params(Struct, kw_only=True, forbid_unknown_fields=True):
    """Parameters of a method: by name, unknown names refused."""


class Result(Struct, kw_only=True):
    """A result, or a part of one: every field is always there."""


class Identity(Params):
    """Whose turn it is. Missing parts are empty; together they give the owner of what is written and what may be read."""

    channel: str | None = None
    account_id: str | None = None
    user_id: str | None = None
    chat_id: str | None = None
    chat_type: Literal["direct", "group"] | None = None
    agent_id: str | None = None
    session_id: str | None = None
    thread_id: str | None = None
    timezone: str | None = None
    name: str | None = None


# bridge.hello


class Client(Params):
    """Who calls, for the log."""

    name: str
    version: str


class HelloParams(Params):
    """First words of a connection: it fixes namespace, role and, for a model, identity. Once a connection."""

    protocol: int
    client: Client
    namespace: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    role: RoleName | None = None
    token: str | None = None
    """Operator token; needed for role person."""
    local: bool = False
    """The user sits at this machine: turns without a user belong to `user:local`."""
    identity: Identity | None = None


class Server(Result):
    """What answers."""

    name: str
    version: str


class DegradedView(Result):
    """Something that does not work as it should, since when, and the way out."""

    what: str
    since_ms: int
    hint: str


class HelloResult(Result):
    """What this bridge is and can do."""

    protocol: int
    server: Server
    namespace: str
    role: RoleName
    backend: str
    methods: list[str]
    features: dict[str, Any]
    limits: dict[str, int]
    degraded: list[DegradedView]


# bridge.status


class StatusParams(Params):
    """`settle_ms`: wait at most that long until nothing is pending that can go on."""

    settle_ms: Annotated[int, Meta(ge=0, le=600_000)] | None = None


class EventCounts(Result):
    """Messages by fate. `duplicates` and `skipped` count what was refused at the door since the store was made."""

    stored: int
    pending: int
    extracted: int
    skipped: int
    duplicates: int
    failed: int


class AtomCounts(Result):
    """Believed facts by status; a disputed one is counted as current too."""

    current: int
    disputed: int
    historical: int
    retired: int


class QueueCounts(Result):
    """What waits for a person."""

    open: int
    oldest_ms: int | None


class TombstoneCounts(Result):
    """Rejected values in force, and how many claims they refused."""

    live: int
    refused: int


class TaskUsage(Result):
    """Model use of one task."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    failures: int


class ModelStatus(Result):
    """Who makes claims, and what it cost."""

    kind: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    by_task: dict[str, TaskUsage]
    failures: int
    last_error: str | None
    paused_until_ms: int | None
    budget: dict[str, int] | None


class VectorStatus(Result):
    """The vector arm, where one is configured."""

    model: str | None
    dim: int | None
    pending: int


class StorageStatus(Result):
    """The database; `wal_bytes` is its write-ahead log, where it has one."""

    backend: str
    bytes: int
    wal_bytes: int
    schema_version: int


class StatusResult(Result):
    """Health and counters of this connection's namespace."""

    settled: bool
    events: EventCounts
    candidates: dict[str, int]
    atoms: AtomCounts
    queue: QueueCounts
    tombstones: TombstoneCounts
    model: ModelStatus
    vectors: VectorStatus
    storage: StorageStatus
    connections: int
    degraded: list[DegradedView]
    uptime_ms: int


class ModelStatusResult(Result):
    """What a model may know of the bridge's health."""

    settled: bool
    degraded: list[DegradedView]


# memory.capture


class MessageParams(Params):
    """One message. `content` is a text or a list of parts, of which `{type:"text", text}` are kept."""

    role: Literal["user", "assistant", "tool", "system", "developer"]
    content: str | list[dict[str, Any]]
    id: Annotated[str, Meta(max_length=512)] | None = None
    """The host's own message id: the same id with the same text is the same message."""
    timestamp: TimeIn | None = None
    timestamp_stable: bool = False
    """The host sends the same timestamp when it sends the message again."""
    name: str | None = None
    tool_call_id: str | None = None
    kind: Literal["turn", "memory_write", "delegation"] = "turn"
    metadata: dict[str, Any] | None = None


class CaptureParams(Params):
    """A turn's messages, oldest first. At most 1,000 (-32005 above); one bad message never fails the others."""

    messages: list[MessageParams]
    identity: Identity | None = None
    host: str | None = None
    session_kind: Literal["user", "oneshot", "heartbeat", "cron", "subagent", "batch", "system"] = "user"
    outcome: Literal["ok", "error", "aborted"] = "ok"
    key: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    """Idempotency key, kept 7 days: the same key answers the stored result; with another body it is refused."""


class CaptureItem(Result):
    """The fate of one message."""

    index: int
    status: Literal["stored", "duplicate", "skipped"]
    event_id: str | None
    reason: str | None


class CaptureResult(Result):
    """The fate of every message. Returned = committed."""

    results: list[CaptureItem]
    stored: int
    duplicates: int
    skipped: int
    redactions: int


# memory.extract


class ExtractParams(Params):
    """Extract now, instead of waiting for the schedule. `identity` narrows to its owner, its session_id to the session."""

    identity: Identity | None = None
    limit: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    """At most this many events."""
    wait: bool = True
    progress_token: str | int | None = None
    now: TimeIn | None = None


class ExtractItem(Result):
    """The fate of one claim."""

    candidate_id: str | None
    status: str
    reason: str | None
    atom_id: str | None


class Failure(Result):
    """Why extraction stopped: model_unavailable, timeout, unusable_reply, truncated, budget, cancelled, not_worker."""

    kind: str
    message: str
    retryable: bool


class Usage(Result):
    """Model use of this call."""

    calls: int
    prompt_tokens: int
    completion_tokens: int


class ExtractResult(Result):
    """What came of it. `pending` events wait for another run; nothing is lost by a failure."""

    events: int
    candidates: int
    promoted: int
    merged: int
    parked: int
    rejected: int
    items: list[ExtractItem]
    atoms: list[str]
    mode: Literal["model", "rules", "none"]
    failure: Failure | None
    pending: int
    usage: Usage


# memory.search, memory.recall


class SearchParams(Params):
    """Look something up. Everything a person may type is a query."""

    query: str
    identity: Identity | None = None
    limit: Limit = 10
    layers: list[LayerName] | None = None
    types: list[ClaimTypeName] | None = None
    subject: str | None = None
    as_of: TimeIn | None = None
    """What was true then."""
    known_at: TimeIn | None = None
    """What was believed then."""
    include_retired: bool = False
    min_score: Annotated[float, Meta(ge=0, le=1)] | None = None
    now: TimeIn | None = None


class DisputeView(Result):
    """The other side of a disputed atom."""

    candidate_id: str
    text: str
    when_ms: int


class Hit(Result):
    """One answer. `score` is 0–1, 1 = a row of average length that holds every query term."""

    id: str
    path: str
    layer: LayerName
    type: str | None
    text: str
    snippet: str
    status: Literal["current", "disputed", "historical", "retired", "raw", "derived"]
    subject: str | None
    owner: str
    score: float
    valid_from_ms: int | None
    valid_to_ms: int | None
    recorded_ms: int
    event_ms: int
    evidence: list[str]
    disputed_by: list[DisputeView]
    source: Literal["memory", "host_file"]


class TimeWindow(Result):
    """The time that a phrase of the query was read as, half-open."""

    from_ms: int
    to_ms: int
    phrase: str


class SearchResult(Result):
    """Best first. `arms` counts the hits that each arm gave before they were joined."""

    hits: list[Hit]
    time_window: TimeWindow | None
    took_ms: float
    arms: dict[str, int]
    degraded: list[DegradedView]


class RecallParams(Params):
    """What belongs into the prompt for this query; always answers within the deadline, with what it has."""

    query: str
    identity: Identity | None = None
    budget_tokens: Annotated[int, Meta(ge=0, le=100_000)] = 1200
    deadline_ms: Annotated[int, Meta(ge=1, le=60_000)] = 1500
    now: TimeIn | None = None


class RecallResult(Result):
    """Two blocks, fenced as data: `system` holds what stands, `prompt` what fits the query. Empty = nothing to say."""

    system: str
    prompt: str
    items: list[Hit]
    dropped: int
    tokens: int
    took_ms: float
    degraded: list[DegradedView]
    time_window: TimeWindow | None


# memory.get


class GetParams(Params):
    """One thing, by `path` as a hit gave it, or by `id`."""

    path: str | None = None
    id: str | None = None
    identity: Identity | None = None
    lines: tuple[Annotated[int, Meta(ge=1)], Annotated[int, Meta(ge=1)]] | None = None


class EvidenceView(Result):
    """Where it was said."""

    event_id: str
    quote: str | None
    role: str
    timestamp_ms: int
    path: str


class JournalView(Result):
    """One mutation. It holds no text that a person said."""

    id: str
    at_ms: int
    actor: dict[str, Any]
    action: str
    targets: list[str]
    reason: str | None


class GetResult(Result):
    """A thing as Markdown, with where it comes from and what happened to it. A retired one says so in its first line."""

    path: str
    kind: str
    id: str
    status: str
    markdown: str
    metadata: dict[str, Any]
    evidence: list[EvidenceView]
    history: list[JournalView]


# memory.store, memory.queue, memory.review, memory.correct


class StoreParams(Params):
    """A person's own statement: no model, never parked."""

    text: Annotated[str, Meta(min_length=1, max_length=500)]
    type: ClaimTypeName = "Fact"
    subject: str | None = None
    identity: Identity | None = None
    valid_from: TimeIn | None = None
    valid_to: TimeIn | None = None
    shared: bool = False


class StoreResult(Result):
    """The atom and the event that holds the statement."""

    atom_id: str
    event_id: str
    superseded: list[str]
    lifted: list[str]


class CandidateView(Result):
    """A claim with its fate."""

    id: str
    owner: str
    status: str
    type: str
    text: str
    quote: str
    subject: str
    slot: str | None
    value: str | None
    valid_from_ms: int | None
    valid_to_ms: int | None
    importance: str
    confidence: str
    recommended: str | None
    actor: str
    reason: str | None
    event_ids: list[str]
    created_ms: int
    decided_ms: int | None
    version: int


class FindingView(Result):
    """Why a candidate waits, and what it stands against."""

    kind: str
    atom_id: str | None
    text: str | None
    detail: str


class QueueItem(Result):
    """One row of the queue, with all that a person needs to decide."""

    candidate: CandidateView
    findings: list[FindingView]
    evidence: list[EvidenceView]
    similar_rejected: list[str]
    recommended: str | None
    age_ms: int


class QueueParams(Params):
    """`status` defaults to what is open: parked."""

    status: Literal["pending", "parked", "promoted", "merged", "rejected", "dismissed"] | None = None
    limit: Limit = 50
    cursor: str | None = None


class QueueResult(Result):
    """Oldest first."""

    items: list[QueueItem]
    counts: dict[str, int]
    next_cursor: str | None


class ReviewParams(Params):
    """A person's verdict on a parked candidate."""

    candidate_id: str
    verdict: Literal["accept", "reject"]
    reviewer: Label
    reason: Reason | None = None
    expect_version: int | None = None


class AtomView(Result):
    """A believed fact, newest version."""

    id: str
    version: int
    owner: str
    type: str
    text: str
    status: str
    subject: str
    slot: str | None
    value: str | None
    valid_from_ms: int | None
    valid_to_ms: int | None
    recorded_ms: int
    event_ms: int
    evidence: list[str]
    successor: str | None


class TombstoneView(Result):
    """A rejected value. `text` is null where it was forgotten."""

    id: str
    owner: str
    text: str | None
    reason: str | None
    created_ms: int
    until_ms: int | None
    """Bounded: refuses evidence with an event time at or before it. Null = without end."""


class ReviewResult(Result):
    """What the verdict did."""

    candidate: CandidateView
    atoms: list[AtomView]
    superseded: list[AtomView]
    tombstones: list[TombstoneView]
    lifted: list[TombstoneView]


class ReplaceChange(Params, tag_field="kind", tag="replace"):
    """The atom was wrong: this text takes its place."""

    text: Annotated[str, Meta(min_length=1, max_length=500)]
    valid_from: TimeIn | None = None


class RetireChange(Params, tag_field="kind", tag="retire"):
    """The atom is no longer believed; with `tombstone` the value is refused from now on."""

    tombstone: bool = True


class CorrectParams(Params):
    """A person's correction of a believed fact."""

    atom_id: str
    change: ReplaceChange | RetireChange
    reviewer: Label
    reason: Reason


class CorrectResult(Result):
    """The atom as it is now, and what took its place."""

    atom: AtomView
    successor: AtomView | None
    tombstones: list[TombstoneView]
    lifted: list[TombstoneView]
