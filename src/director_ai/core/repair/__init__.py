"""Repair clause by clause: what becomes of a clause, what is asked on the way, and what is recorded of it."""
