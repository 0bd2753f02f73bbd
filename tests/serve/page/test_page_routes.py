"""The page without a browser: who gets in, what a form needs, and what a decision does."""

from __future__ import annotations

import re
from collections.abc import Callable

import httpx2
import pytest
from page_server import RIGHT, TENANT, WRONG, PageServer
from person import Person

from director_ai.serve.page.desk import HEADERS

Make = Callable[..., Person]
VIEWS = ["/", "/?state=all&q=x", "/monitoring", "/playground"]
POSTS = [
    "/cases/{}/decide",
    "/cases/{}/edit",
    "/cases/{}/do/claim",
    "/cases/{}/do/release",
    "/playground/check",
    "/playground/stream",
    "/logout",
]


# --- who gets in ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*VIEWS, "/cases/{}", "/cases/{}/state"])
def test_nobody_sees_a_view_without_a_reviewers_key(page: PageServer, path: str) -> None:
    path = path.format(page.text().case_id)
    with httpx2.Client(base_url=page.page) as client:
        assert client.get(path).status_code == 303
        assert client.get(path).headers["location"].startswith("/review/login")
        assert client.get(path, headers={"authorization": f"Bearer {page.keys.proxy}"}).status_code == 403
        assert client.get(path, headers={"authorization": "Bearer dai_wrong"}).status_code == 303
        assert client.get(path, headers={"authorization": f"Bearer {page.keys.ines}"}).status_code == 200


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("who", ["nobody", "proxy", "reviewer"])
def test_no_form_is_taken_without_a_key_and_a_token_of_the_page(page: PageServer, path: str, who: str) -> None:
    case = page.text()
    keys = {
        "nobody": {},
        "proxy": {"authorization": f"Bearer {page.keys.proxy}"},
        "reviewer": {"authorization": f"Bearer {page.keys.ines}"},
    }
    with httpx2.Client(base_url=page.page) as client:
        answer = client.post(path.format(case.case_id), data={"action": "approve", "text": "x"}, headers=keys[who])
    assert answer.status_code == (401 if who == "nobody" else 403)
    assert page.queue.get_case(case.case_id).state == "open"
    assert not page.queue.get_case(case.case_id).claimed_by


@pytest.mark.parametrize("path", ["/nope", "/cases", "/cases/", "/monitoring/<script>alert(1)</script>", "/static"])
def test_a_link_that_leads_nowhere_leads_to_a_page_that_says_so(page: PageServer, person: Make, path: str) -> None:
    answer = person(page.keys.ines).get(path)
    assert answer.status_code == 404
    assert "There is no page at" in answer.text
    assert "<script>alert" not in answer.text
    assert httpx2.get(page.page + path).status_code == 303


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "POST"])
def test_other_methods_are_not_there(page: PageServer, method: str) -> None:
    answer = httpx2.request(method, f"{page.page}/monitoring", headers={"authorization": f"Bearer {page.keys.rosa}"})
    assert answer.status_code == 405


def test_a_proxys_key_and_a_wrong_key_do_not_sign_in(page: PageServer, person: Make) -> None:
    somebody = person()
    somebody.get("/login")
    assert "not for reviewers" in somebody.post("/login", key=page.keys.proxy).text
    assert "not known" in somebody.post("/login", key="dai_abcdefgh_nonsense").text
    assert "not known" in somebody.post("/login", key="").text
    assert somebody.get("/").url.path == "/review/login"


def test_the_cookie_holds_a_reference_and_not_the_key(page: PageServer, person: Make) -> None:
    rosa = person(page.keys.rosa)
    cookie = rosa.client.cookies["director_review"]
    assert page.keys.rosa not in cookie
    rosa.client.cookies.clear()
    answer = rosa.client.get(
        "/", headers={"cookie": f"director_review={cookie[:-1]}{'0' if cookie[-1] != '0' else '1'}"}
    )
    assert answer.url.path == "/review/login"


def test_cookies_are_for_this_site_and_no_script(page: PageServer, person: Make) -> None:
    somebody = person()
    somebody.get("/login")
    token = re.search(r'form_token" value="(\w+)"', somebody.get("/login").text)
    assert token
    answer = somebody.client.post(
        "/login", data={"key": page.keys.rosa, "form_token": token[1]}, follow_redirects=False
    )
    for cookie in answer.headers.get_list("set-cookie"):
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert "Path=/review" in cookie


def test_who_signs_out_is_out_with_every_copy_of_the_cookie(page: PageServer, person: Make) -> None:
    rosa = person(page.keys.rosa)
    cookie = rosa.client.cookies["director_review"]
    rosa.get("/")
    assert "signed out" in rosa.post("/logout").text
    rosa.client.cookies.clear()
    answer = rosa.client.get("/", headers={"cookie": f"director_review={cookie}"})
    assert answer.url.path == "/review/login"


def test_a_revoked_key_ends_its_session(page: PageServer, person: Make) -> None:
    issued = page.server.keys.create(TENANT, ["reviewer"])
    somebody = person(issued.secret)
    assert somebody.get("/").url.path == "/review/"
    page.server.keys.revoke(issued.key.prefix)
    assert somebody.get("/").url.path == "/review/login"


@pytest.mark.parametrize(
    "target", ["//evil.example", "https://evil.example", "/../admin/keys", "/cases/x/../../x", "\\evil"]
)
def test_signing_in_leads_to_the_page_and_nowhere_else(page: PageServer, person: Make, target: str) -> None:
    somebody = person()
    somebody.get("/login")
    assert somebody.post("/login", key=page.keys.rosa, next=target).url.path == "/review/"


def test_a_demo_opens_without_a_key_for_this_machine_alone() -> None:
    with PageServer(is_demo=True) as demo, httpx2.Client(base_url=demo.page, follow_redirects=True) as client:
        case = demo.text(tenant_id="demo")
        shown = client.get(f"/cases/{case.case_id}")
        token = re.search(r'form_token" value="(\w+)"', shown.text)
        assert token
        data = {"form_token": token[1], "action": "approve"}
        foreign = client.post(f"/cases/{case.case_id}/decide", data=data, headers={"host": "evil.example"})
        assert foreign.status_code == 401
        assert client.post(f"/cases/{case.case_id}/decide", data={"action": "approve"}).status_code == 403
        assert "It can be released now" in client.post(f"/cases/{case.case_id}/decide", data=data).text


# --- forms ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["", "0" * 64, "x", "ünicode"])
def test_a_wrong_token_changes_nothing(page: PageServer, person: Make, token: str) -> None:
    rosa, case = person(page.keys.rosa), page.text()
    rosa.get(f"/cases/{case.case_id}")
    answer = rosa.client.post(f"/cases/{case.case_id}/decide", data={"form_token": token, "action": "approve"})
    assert answer.status_code == 403
    assert page.queue.get_case(case.case_id).state == "open"


def test_the_token_of_another_session_is_not_taken(page: PageServer, person: Make) -> None:
    rosa, ines, case = person(page.keys.rosa), person(page.keys.ines), page.text()
    token = re.search(r'form_token" value="(\w+)"', ines.get(f"/cases/{case.case_id}").text)
    assert token
    answer = rosa.client.post(f"/cases/{case.case_id}/decide", data={"form_token": token[1], "action": "approve"})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "headers", [{"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}, {"origin": "null"}]
)
def test_a_form_of_another_site_is_not_taken(page: PageServer, person: Make, headers: dict[str, str]) -> None:
    rosa, case = person(page.keys.rosa), page.text()
    token = re.search(r'form_token" value="(\w+)"', rosa.get(f"/cases/{case.case_id}").text)
    assert token
    data = {"form_token": token[1], "action": "approve"}
    assert rosa.client.post(f"/cases/{case.case_id}/decide", data=data, headers=headers).status_code == 403
    assert page.queue.get_case(case.case_id).state == "open"


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{}", "application/json", 400),
        (b"a=%ff", "application/x-www-form-urlencoded", 400),
        (b"&".join(b"a%d=1" % n for n in range(60)), "application/x-www-form-urlencoded", 400),
        (b"action=approve&action=reject", "application/x-www-form-urlencoded", 400),
        (b"a=" + b"x" * 7_000_000, "application/x-www-form-urlencoded", 413),
    ],
    ids=["JSON", "not UTF-8", "too many fields", "a field twice", "too long"],
)
def test_what_is_no_form_is_refused(page: PageServer, person: Make, content: bytes, kind: str, status: int) -> None:
    rosa, case = person(page.keys.rosa), page.text()
    answer = rosa.client.post(f"/cases/{case.case_id}/decide", content=content, headers={"content-type": kind})
    assert answer.status_code == status


# --- every answer ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", [*VIEWS, "/login", "/cases/nothing", "/nothing", "/static/page.css", "/static/nothing.js", "/?state=wrong"]
)
def test_every_answer_has_the_headers_of_the_page(page: PageServer, person: Make, path: str) -> None:
    headers = person(page.keys.rosa).get(path).headers
    for name in HEADERS:
        assert name in headers
    assert "unsafe" not in headers["content-security-policy"]
    assert path.startswith("/static/page") or headers["cache-control"] == "no-store"


def test_no_page_has_a_script_or_a_style_inside(page: PageServer, person: Make) -> None:
    rosa, case = person(page.keys.rosa), page.answer("chat-inline")
    for path in [*VIEWS, f"/cases/{case.case_id}"]:
        shown = rosa.get(path).text
        assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=|javascript:", shown)


@pytest.mark.parametrize("name", ["../router.py", "..%2Frouter.py", "vendor/htmx.LICENSE", "templates/base.html"])
def test_only_named_files_are_served(page: PageServer, name: str) -> None:
    assert httpx2.get(f"{page.page}/static/{name}").status_code in {303, 404}  # to sign in, where it is no file


# --- tenants --------------------------------------------------------------------------------------------------


def test_another_tenants_case_is_not_there(page: PageServer, person: Make) -> None:
    case, other = page.text("Only acme may see this.", request_id="chat-secret"), person(page.keys.other)
    assert other.get(f"/cases/{case.case_id}").status_code == 404
    assert other.get(f"/cases/{case.case_id}/state").status_code == 404
    assert case.case_id not in other.get("/?state=all").text
    assert case.case_id not in other.get(f"/?state=all&tenant={TENANT}").text
    other.get("/playground")
    for path in ("decide", "edit", "do/claim", "do/release"):
        assert other.post(f"/cases/{case.case_id}/{path}", action="approve", text="x").status_code == 404
    assert page.queue.get_case(case.case_id).state == "open"


def test_an_operator_of_all_tenants_chooses_one(page: PageServer, person: Make) -> None:
    mine, theirs = page.text("One of acme."), page.text("One of globex.", tenant_id="globex")
    operator = person(page.keys.operator)
    link = f"/cases/{theirs.case_id}"
    assert link in operator.get("/?q=" + theirs.case_id).text
    assert link not in operator.get(f"/?tenant={TENANT}&q={theirs.case_id}").text
    assert operator.get(f"/cases/{mine.case_id}").status_code == 200


def test_figures_of_the_process_are_for_administrators(page: PageServer, person: Make) -> None:
    assert "Clauses by action" in person(page.keys.rosa).get("/monitoring").text
    shown = person(page.keys.ines).get("/monitoring").text
    assert "Clauses by action" not in shown
    assert "Age of open cases" in shown


def test_evidence_is_shown_to_keys_that_may_see_it(page: PageServer, person: Make) -> None:
    case = page.text(
        request_id="chat-evidence", metadata={"evidence": [{"id": "kb:interest", "text": "metadata says 2.1 %"}]}
    )
    assert "<mark>2.1 %</mark>" in person(page.keys.ines).get(f"/cases/{case.case_id}").text
    blind = person(page.keys.blind).get(f"/cases/{case.case_id}").text
    assert "kb:interest" in blind
    assert "2.1 %" not in blind
    assert "does not show the text of evidence" in blind


def test_the_evidence_of_what_was_rewritten_is_shown_first(page: PageServer, person: Make) -> None:
    action = {"action": "rewrite", "clause": WRONG, "text": RIGHT, "span": [0, len(WRONG)], "reason": "contradicted"}
    case = page.text(
        RIGHT,
        original_text=WRONG,
        request_id="chat-rewritten",
        evidence_refs=["kb:cash"],
        metadata={"actions": [action | {"evidence_ids": ["kb:interest"]}]},
    )
    shown = person(page.keys.ines).get(f"/cases/{case.case_id}").text
    evidence = shown[shown.index('evidence-title">Evidence') :]
    assert "<mark>2.1 %</mark>" in evidence
    assert evidence.index("kb:interest") < evidence.index("kb:cash")


# --- deciding -------------------------------------------------------------------------------------------------


def test_a_decision_is_recorded_under_the_callers_own_id(page: PageServer, person: Make) -> None:
    rosa, case = person(page.keys.rosa), page.correction(request_id="chat-1")
    rosa.get(f"/cases/{case.case_id}")
    answer = rosa.post(
        f"/cases/{case.case_id}/decide", action="approve", reason="as in the terms", reviewer_id="somebody"
    )
    assert "It can be released now" in answer.text
    (decision,) = page.queue.decisions(case.case_id)
    assert (decision.reviewer_id, decision.reason) == (page.caller_id(page.keys.rosa), "as in the terms")
    answer = rosa.post(f"/cases/{case.case_id}/do/release")
    assert "This happens once" in answer.text
    assert page.queue.get_case(case.case_id).state == "released"
    assert "used again" in rosa.post(f"/cases/{case.case_id}/do/remember").text
    assert page.queue.known_correction(WRONG, tenant_id=TENANT) is not None


def test_whoever_decides_second_gets_a_sentence_and_the_case_as_it_is(page: PageServer, person: Make) -> None:
    rosa, ines, case = person(page.keys.rosa), person(page.keys.ines), page.correction(request_id="chat-2")
    rosa.get(f"/cases/{case.case_id}")
    ines.get(f"/cases/{case.case_id}")
    rosa.post(f"/cases/{case.case_id}/decide", action="reject", reason="no")
    answer = ines.post(f"/cases/{case.case_id}/decide", action="approve", reason="mine stays in the field")
    assert answer.status_code == 409
    assert "Nothing was changed: the case is rejected already" in answer.text
    assert len(page.queue.decisions(case.case_id)) == 1


def test_a_case_that_somebody_holds_is_not_decided_by_others(page: PageServer, person: Make) -> None:
    rosa, ines, case = person(page.keys.rosa), person(page.keys.ines), page.text()
    rosa.get(f"/cases/{case.case_id}")
    ines.get(f"/cases/{case.case_id}")
    assert "You hold this case" in rosa.post(f"/cases/{case.case_id}/do/claim").text
    for path, fields in (("decide", {"action": "approve"}), ("do/claim", {})):
        answer = ines.post(f"/cases/{case.case_id}/{path}", **fields)
        assert (answer.status_code, "another reviewer holds the case" in answer.text) == (409, True)
    assert "let go" in rosa.post(f"/cases/{case.case_id}/do/unclaim").text
    assert ines.post(f"/cases/{case.case_id}/decide", action="approve").status_code == 200


def test_a_correction_that_the_verifiers_refused_is_not_approved(page: PageServer, person: Make) -> None:
    rosa, case = person(page.keys.rosa), page.correction(risk=0.8, request_id="chat-3")
    assert "not approved" in rosa.get(f"/cases/{case.case_id}").text
    answer = rosa.post(f"/cases/{case.case_id}/decide", action="approve")
    assert answer.status_code == 409
    assert page.queue.get_case(case.case_id).state == "open"


def test_who_would_release_what_the_guard_would_not_show_is_told(page: PageServer, person: Make) -> None:
    rosa = person(page.keys.rosa)
    warning = "The guard would not show 1 of the 1 clause"
    assert warning in rosa.get(f"/cases/{page.text(WRONG).case_id}").text
    assert warning not in rosa.get(f"/cases/{page.text(RIGHT).case_id}").text


def test_a_decision_without_a_choice_is_asked_for_again(page: PageServer, person: Make) -> None:
    rosa, case = person(page.keys.rosa), page.text()
    rosa.get(f"/cases/{case.case_id}")
    assert "Choose whether" in rosa.post(f"/cases/{case.case_id}/decide", reason="kept").text


def test_a_case_sent_back_shows_what_the_next_try_gets(page: PageServer, person: Make) -> None:
    rosa, case = person(page.keys.rosa), page.text()
    rosa.get(f"/cases/{case.case_id}")
    shown = rosa.post(f"/cases/{case.case_id}/decide", action="request_retry", reason="cite the terms").text
    assert "What the next try gets" in shown
    assert "cite the terms" in shown


def test_a_case_shows_its_proof(page: PageServer, person: Make) -> None:
    rosa, case = person(page.keys.rosa), page.answer("chat-proof")
    rosa.get(f"/cases/{case.case_id}")
    rosa.post(f"/cases/{case.case_id}/decide", action="approve", reason="fine")
    page.queue.trail.sign()
    shown = rosa.get(f"/cases/{case.case_id}").text
    rows = page.queue.trail.about(case.case_id, TENANT)
    assert "the same comes out" in shown
    assert f"at row {rows[-1].sequence}</span>" in shown
    assert all(row.hash in shown for row in rows)


# --- editing --------------------------------------------------------------------------------------------------


def test_an_edit_is_judged_and_somebody_else_approves_it(page: PageServer, person: Make) -> None:
    rosa, ines, case = person(page.keys.rosa), person(page.keys.ines), page.text(request_id="chat-edit")
    path = f"/cases/{case.case_id}/edit"
    rosa.get(f"/cases/{case.case_id}")
    assert (
        "would not show 1 of 1 clause" in rosa.post(path, text="Savings earn 9 % interest a year.", step="judge").text
    )
    assert page.queue.get_case(case.case_id).state == "open"
    assert "would show all of it" in rosa.post(path, text=RIGHT, step="judge").text
    shown = rosa.post(path, text=RIGHT, step="submit", reason="the rate")
    assert "Somebody else has to approve it" in shown.text
    new = page.queue.get_case(shown.url.path.rpartition("/")[2])
    assert (new.retry_of, new.proposer_id, new.candidate_text) == (case.case_id, page.caller_id(page.keys.rosa), RIGHT)
    assert new.metadata["verdicts"][0]["verdict"] == "supported"
    assert page.queue.get_case(case.case_id).state == "retry_requested"
    answer = rosa.post(f"/cases/{new.case_id}/decide", action="approve")
    assert (answer.status_code, "whoever proposed a text cannot approve it" in answer.text) == (409, True)
    ines.get(f"/cases/{new.case_id}")
    assert ines.post(f"/cases/{new.case_id}/decide", action="approve").status_code == 200
    assert page.queue.get_case(new.case_id).state == "approved"


def test_an_edit_is_no_way_around_the_verifiers(page: PageServer, person: Make) -> None:
    rosa, case = person(page.keys.rosa), page.correction(risk=0.8, request_id="chat-around")
    rosa.get(f"/cases/{case.case_id}")
    path = f"/cases/{case.case_id}/edit"
    assert "the text is the same" in rosa.post(path, text=RIGHT, step="submit").text
    answer = rosa.post(path, text="Savings earn 9 % interest a year.", step="submit")
    assert (answer.status_code, "must be supported in every clause" in answer.text) == (409, True)
    assert page.queue.get_case(case.case_id).state == "open"


@pytest.mark.parametrize("text", ["", "   \n"])
def test_a_blank_edit_is_refused(page: PageServer, person: Make, text: str) -> None:
    rosa, case = person(page.keys.rosa), page.text()
    rosa.get(f"/cases/{case.case_id}")
    assert "the text is blank" in rosa.post(f"/cases/{case.case_id}/edit", text=text, step="submit").text


# --- the inbox, the playground --------------------------------------------------------------------------------


def test_the_inbox_shows_fifty_at_a_time_and_finds_ids_and_reasons(page: PageServer, person: Make) -> None:
    key = page.server.keys.create("pages", ["reviewer"]).secret
    for number in range(60):
        page.text(tenant_id="pages", request_id=f"page-{number}", reason=f"number {number:02}")
    somebody = person(key)
    first = somebody.get("/").text
    assert first.count("data-row") == 50
    following = re.search(r'href="([^"]+)" rel="next"', first)
    assert following
    assert somebody.get(following[1].removeprefix("/review").replace("&amp;", "&")).text.count("data-row") == 10
    assert somebody.get("/?q=NUMBER 07").text.count("data-row") == 1
    assert somebody.get("/?q=page-1").text.count("data-row") == 11
    assert somebody.get("/", headers={"hx-request": "true"}).text.count("<html") == 0


def test_the_playground_judges_and_keeps_nothing(page: PageServer, person: Make) -> None:
    rosa = person(page.keys.rosa)
    rosa.get("/playground")
    before = page.queue.trail.rows(TENANT, limit=10_000)
    fields = {
        "profile": "finance",
        "judge": "heuristic",
        "facts": "a: The fee is 4 euros.",
        "answer": "The fee is 5 euros.",
    }
    shown = rosa.post("/playground/check", **fields).text
    assert "<del>5</del><ins>4</ins>" in shown
    assert "The fee is 4 euros." in shown
    events = rosa.post("/playground/stream", **fields)
    assert events.headers["content-type"].startswith("text/event-stream")
    assert '"kind": "rewrite"' in events.text
    assert events.text.rstrip().endswith('data: {"halted": false, "reason": ""}')
    assert page.queue.trail.rows(TENANT, limit=10_000) == before


@pytest.mark.parametrize(
    "wrong",
    [
        {"profile": "x"},
        {"judge": "x"},
        {"answer": " "},
        {"facts": "a: b\na: c"},
        {"answer": "x" * 20_001},
        {"facts": "\n".join(map(str, range(300)))},
    ],
    ids=["profile", "judge", "no answer", "an id twice", "too long", "too many facts"],
)
def test_a_trial_that_cannot_be_is_refused_with_a_sentence(
    page: PageServer, person: Make, wrong: dict[str, str]
) -> None:
    rosa = person(page.keys.rosa)
    rosa.get("/playground")
    fields = {"profile": "finance", "judge": "heuristic", "facts": "", "answer": "Hello."} | wrong
    answer = rosa.post("/playground/check", **fields)
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text


def test_a_broken_trail_is_told_and_nothing_is_released(page: PageServer, person: Make) -> None:
    rosa, case = person(page.keys.rosa), page.text("Before.", tenant_id="broken")
    operator = person(page.keys.operator)
    page.queue.trail.database.write(
        lambda connection: connection.exec_driver_sql(
            "UPDATE director_review_case SET candidate_text = 'After.' WHERE case_id = ?", (case.case_id,)
        ),
        "broken",
    )
    shown = operator.get(f"/cases/{case.case_id}").text
    assert "The trail does not bear this case out" in shown
    answer = operator.post(f"/cases/{case.case_id}/decide", action="approve")
    assert answer.status_code == 409
    assert rosa.get(f"/cases/{case.case_id}").status_code == 404
