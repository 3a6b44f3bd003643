"""What is true: pure functions over plain values."""
