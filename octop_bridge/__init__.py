"""octop-bridge: a JSON-RPC sidecar that gives LLM agents a memory one can trust."""

__version__ = "0.1.0.dev0"
