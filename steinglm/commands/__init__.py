"""The commands of the terminal: each module adds its own to a parser, and runs it."""
