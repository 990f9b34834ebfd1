"""One file an engine: how it is trained with its best settings, and what it leaves."""
