"""Finds a browser for the tests of the page. Run as a script, it says so if there is none.

With `--install` it installs Debian's chromium first, where it may. That has to happen before tests are collected. Playwright's
driver is a program of its own that needs a library (libatomic) which a small Debian lacks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
PACKAGES = ("chromium", "libatomic1")
MISSING = (
    "THE REVIEW PAGE WAS NOT TESTED IN A BROWSER: chromium or a library of playwright is missing; install them "
    "(`apt-get install chromium libatomic1`) or name a browser in DIRECTOR_AI_TEST_BROWSER"
)


def find_browser() -> str | None:
    """Return the path of a browser; None if there is none, or nothing that can drive it."""
    if not _has_driver():
        return None
    named = os.environ.get("DIRECTOR_AI_TEST_BROWSER")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


def _has_driver() -> bool:
    try:
        from playwright._impl._driver import compute_driver_executable

        program, *_ = compute_driver_executable()
        return subprocess.run([program, "--version"], check=False, capture_output=True).returncode == 0
    except (ImportError, OSError):
        return False


def install() -> None:
    """Install chromium, where this is a machine with apt and its owner's own account."""
    if find_browser() or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-q"], ["install", "-q", "-y", "--no-install-recommends", *PACKAGES]):
        if subprocess.run(["apt-get", *command], env=environment, check=False, stdout=subprocess.DEVNULL).returncode:
            return


if __name__ == "__main__":
    if "--install" in sys.argv:
        install()
    elif not find_browser():
        sys.stderr.write(f"{MISSING}\n")
