"""Finds a browser for the tests of the page. Run as a script, it says so if there is none.

With `--install` it installs Debian's chromium first, where it may. That has to happen before tests are collected.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
MISSING = (
    "THE REVIEW PAGE WAS NOT TESTED IN A BROWSER: there is no chromium; install it (`apt-get install chromium`) "
    "or name one in DIRECTOR_AI_TEST_BROWSER"
)


def find_browser() -> str | None:
    """Return the path of a browser; None where there is none."""
    named = os.environ.get("DIRECTOR_AI_TEST_BROWSER")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


def install() -> None:
    """Install chromium, where this is a machine with apt and its owner's own account."""
    if find_browser() or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-q"], ["install", "-q", "-y", "--no-install-recommends", "chromium"]):
        if subprocess.run(["apt-get", *command], env=environment, check=False, stdout=subprocess.DEVNULL).returncode:
            return


if __name__ == "__main__":
    if "--install" in sys.argv:
        install()
    elif not find_browser():
        sys.stderr.write(f"{MISSING}\n")
