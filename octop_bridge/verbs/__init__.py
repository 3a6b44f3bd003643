"""One module a verb family; they do not import each other."""
