"""Lessons: presets with a question and its answer, one TOML file each, whose claims are checked by measuring."""
