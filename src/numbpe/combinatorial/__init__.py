"""Combinatorial BPE: a token is a row (variation, prefix, core, suffix) of four table indices."""
