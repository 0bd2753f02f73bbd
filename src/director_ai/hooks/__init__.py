"""Hooks that examine what agents say and do beside the scorer; each is a module of its own, loaded when it is used."""
