"""The paper's section 3, run again: its experiments, its numbers, and what holds of its claims."""
