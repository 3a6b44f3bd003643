"""What travels on the wire."""
