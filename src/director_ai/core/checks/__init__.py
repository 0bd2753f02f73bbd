"""Checks on a text or a stream: what one is, what each is asked and when, and what becomes of what they find."""
