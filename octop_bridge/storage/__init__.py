"""The store: named statements over a narrow engine."""
