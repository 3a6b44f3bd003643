"""What runs between evidence and belief: slices, promotion, the schedule."""
