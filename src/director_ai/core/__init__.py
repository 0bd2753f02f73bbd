"""The part that decides and never acts: no clock, no thread, no socket, no file; `runtime.drive` acts for it."""
