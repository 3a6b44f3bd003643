"""Who makes claims of evidence."""
