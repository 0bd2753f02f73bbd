"""Somebody who looks at the page with a browser that has no scripts."""

from __future__ import annotations

import re
from typing import Any

import httpx2
from page_server import PageServer

_TOKEN = re.compile(r'name="form_token" value="([0-9a-f]{64})"')


class Person:
    """Somebody with a browser that has no scripts: pages, links and forms."""

    def __init__(self, page: PageServer) -> None:
        self.page = page
        self.client = httpx2.Client(base_url=page.page, follow_redirects=True, timeout=20)
        self._token = ""

    def sign_in(self, key: str) -> Person:
        self.get("/login")
        answer = self.post("/login", key=key)
        assert answer.status_code == 200, answer.text
        return self

    def get(self, path: str, **options: Any) -> httpx2.Response:
        answer = self.client.get(path, **options)
        found = _TOKEN.search(answer.text)
        self._token = found[1] if found else self._token
        return answer

    def post(self, path: str, **fields: str) -> httpx2.Response:
        answer = self.client.post(path, data={"form_token": self._token, **fields})
        found = _TOKEN.search(answer.text)
        self._token = found[1] if found else self._token
        return answer
