"""The parts of `scripts/bench`: what is shared by its subcommands, and a module each."""
