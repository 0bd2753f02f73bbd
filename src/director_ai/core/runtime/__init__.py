"""A stream from its first token to its end.

intake    tokens as they come   -> plain strings of whole characters
halting   scores                -> go on, warn or halt
release   judged tokens         -> the only door out
plan      the order of it all, and what each failure means
drive     the two drivers, synchronous and asynchronous
session, halt_report, structured_recovery: what is said about it afterwards
"""
