"""The middleware, called directly with ASGI messages."""

import asyncio
import json
import logging
import time

import pytest

from credo.app.serve import AccessLog, BodyLimit, Guard, JsonLines, guarded


class Answer:
    def __init__(self, sent):
        starts = [message for message in sent if message["type"] == "http.response.start"]
        assert len(starts) == 1 and sent[0] is starts[0]
        self.status = starts[0]["status"]
        self.headers = {name.decode(): value.decode() for name, value in starts[0]["headers"]}
        assert len(self.headers) == len(starts[0]["headers"])
        self.body = b"".join(message.get("body", b"") for message in sent[1:])

    @property
    def error(self):
        return json.loads(self.body)["error"]


def ask(app, path="/", *, method="GET", query="", body=(b"",), pause=0.0, **headers):
    """The answer to a request whose body comes in parts; None as a part means that nothing comes any more."""

    async def run():
        parts, sent = list(body), []

        async def receive():
            await asyncio.sleep(pause)
            if not parts:
                return {"type": "http.disconnect"}
            part = parts.pop(0)
            if part is None:
                await asyncio.sleep(60)
            return {"type": "http.request", "body": part, "more_body": bool(parts)}

        async def send(message):
            sent.append(message)

        given = {"host": "localhost", **headers}.items()
        fields = [
            (name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in given if value is not None
        ]
        scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": fields,
                 "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 5)}  # fmt: skip
        await app(scope, receive, send)
        return Answer(sent)

    return asyncio.run(run())


async def echo(scope, receive, send):
    """Answers with the body."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def deaf(scope, receive, send):
    """Answers without reading the body."""
    await asyncio.sleep(0.05)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok"})


async def stubborn(scope, receive, send):
    """Turns every failure to read into an answer of its own, as frameworks do."""
    try:
        await receive()
        await receive()
    except Exception:
        await send({"type": "http.response.start", "status": 400, "headers": []})
        await send({"type": "http.response.body", "body": b"can't parse"})


@pytest.mark.parametrize("host", ["localhost", "LocalHost:80", "127.0.0.1:8000", "[::1]:9", "[::1]"])
def test_the_own_names_are_allowed(host):
    assert ask(Guard(echo), host=host).status == 200


@pytest.mark.parametrize(
    "host", ["", "evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.nip.io", "10.0.0.1", "::1",
             "localhost:x", "localhost@evil", "localhost, evil.example", "localhost:80:80"]
)  # fmt: skip
def test_other_names_are_refused(host):
    answer = ask(Guard(echo), host=host)
    assert answer.status == 403 and "Host" in answer.error


def test_without_a_host_header_a_request_is_refused():
    assert ask(Guard(echo), host=None).status == 403


def test_on_all_interfaces_addresses_are_allowed_and_names_must_be_given():
    app = Guard(echo, host="0.0.0.0", names=["model"])
    assert [ask(app, host=host).status for host in ("10.0.0.1:80", "[fe80::1]:80", "model", "evil.example")] == [
        200, 200, 200, 403]  # fmt: skip


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://localhost:8000"}, 200),
        ({"origin": "https://localhost:8000"}, 200),
        ({"origin": "http://localhost:9000"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": ""}, 403),
        ({"origin": "http://[::1"}, 403),
        ({"sec_fetch_site": "same-origin"}, 200),
        ({"sec_fetch_site": "none"}, 200),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}, 200),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "iframe"}, 403),
    ],
)
def test_pages_of_other_origins_are_refused(headers, status):
    assert ask(Guard(echo), host="localhost:8000", **headers).status == status


def test_a_form_of_another_site_is_refused():
    site = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    assert ask(Guard(echo), method="POST", host="localhost", **site).status == 403


def test_websockets_are_refused_too():
    sent = []

    async def run(app):
        async def send(message):
            sent.append(message)

        scope = {"type": "websocket", "path": "/", "headers": [(b"host", b"evil.example")], "query_string": b""}
        await app(scope, None, send)

    asyncio.run(run(Guard(echo)))
    asyncio.run(run(Guard(echo, names=["evil.example"], token="secret")))
    assert [message["type"] for message in sent] == ["websocket.close"] * 2


class TestToken:
    app = Guard(echo, token="s3cret ü", open_paths=["/live"])

    def test_without_or_with_a_wrong_one(self):
        for request in ({}, {"query": "token=wrong"}, {"query": "token=s3cret"}, {"authorization": "Bearer s"},
                        {"cookie": "credo-token-8000=no"}, {"cookie": "\x00;=;"}, {"query": "token=a&token=s3cret"},
                        {"query": "token=%ff%fe"}, {"authorization": "Basic s3cret"}):  # fmt: skip
            answer = ask(self.app, **request)
            assert answer.status == 401 and "token" in answer.error and "s3cret" not in answer.error
            assert answer.headers["www-authenticate"] == "Bearer"
            assert "Authorization: Bearer TOKEN" in answer.error and "?token=TOKEN" in answer.error

    def test_a_browser_gets_a_page_that_says_where_the_token_is(self):
        page = "text/html,application/xhtml+xml,*/*;q=0.8"
        answer = ask(self.app, accept=page)
        assert answer.status == 401 and answer.headers["content-type"].startswith("text/html")
        assert b"terminal" in answer.body and b"s3cret" not in answer.body and b"<script" not in answer.body
        # A program and the requests of a page's scripts get JSON.
        assert ask(self.app, accept="*/*").headers["content-type"] == "application/json"

    def test_a_hostile_cookie_takes_no_time(self):
        # SimpleCookie's unquoting takes quadratic time in Python before 3.11.10: 7 seconds for this one.
        quoted = 'a="' + '\\"' * 32_000 + '"'
        begun = time.process_time()
        assert ask(self.app, cookie=quoted).status == 401
        assert time.process_time() - begun < 0.5

    def test_cookies_do_not_reach_the_application(self):
        # Its framework would parse all of them, on open paths and without a token too.
        async def cookies(scope, receive, send):
            found = b"; ".join(value for name, value in scope["headers"] if name == b"cookie")
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": found})

        for app in (Guard(cookies), Guard(cookies, token="s3cret", open_paths=["/live"])):
            assert ask(app, "/live", cookie="a=1").body == b""

    def test_in_the_address_it_sets_a_cookie_that_is_enough_afterwards(self):
        answer = ask(self.app, query="a=1&token=s3cret%20%C3%BC")
        cookie, *flags = answer.headers["set-cookie"].split("; ")
        assert answer.status == 200 and {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(flags)
        assert ask(self.app, cookie=f"other=1; {cookie}").status == 200
        assert ask(self.app, cookie=cookie.replace("8000", "8001")).status == 401

    def test_as_a_header(self):
        answer = ask(Guard(echo, token="s3cret"), authorization="bearer s3cret")
        assert answer.status == 200 and "set-cookie" not in answer.headers

    def test_open_paths_need_none(self):
        assert (ask(self.app, "/live").status, ask(self.app, "/live/x").status) == (200, 401)

    def test_an_empty_token_is_a_mistake(self):
        with pytest.raises(ValueError, match="token is empty"):
            Guard(echo, token="")


class TestBody:
    app = BodyLimit(echo, max_bytes=10, seconds=0.2)

    def test_a_body_up_to_the_limit_passes(self):
        assert ask(self.app, body=[b"12345", b"", b"67890"], content_length="10").body == b"1234567890"

    def test_a_declared_length_above_it(self):
        answer = ask(self.app, body=[b"x" * 11], content_length="11")
        assert (answer.status, answer.headers["connection"]) == (413, "close") and "10 bytes" in answer.error

    def test_more_than_was_declared_and_undeclared_bodies(self):
        assert ask(self.app, body=[b"x" * 6, b"x" * 5]).status == 413
        assert ask(self.app, body=[b"x" * 6, b"x" * 5], content_length="6").status == 413

    def test_an_endless_body_ends(self):
        assert ask(self.app, body=[b"x" * 6] * 10_000).status == 413

    @pytest.mark.parametrize("length", ["-1", "1e9", "", "٣", "9" * 30, "5, 5"])
    def test_a_length_that_is_no_number(self, length):
        raw = length.encode().decode("latin-1")
        assert ask(self.app, body=[b"x"], content_length=raw).status == 400

    def test_a_body_that_stalls(self):
        begun = time.perf_counter()
        answer = ask(self.app, body=[b"12", None])
        assert answer.status == 408 and time.perf_counter() - begun < 5
        assert answer.headers["connection"] == "close" and "0.2 seconds" in answer.error

    def test_a_body_that_trickles(self):
        assert ask(self.app, body=[b"", b""] * 50, pause=0.05).status == 408

    def test_what_the_application_makes_of_it_is_replaced(self):
        app = BodyLimit(stubborn, max_bytes=10, seconds=0.1)
        assert ask(app, body=[b"1", None]).status == 408
        assert ask(app, body=[b"x" * 11, b""]).status == 413

    def test_bodies_at_once_have_a_limit_together(self):
        app = BodyLimit(echo, max_bytes=10, seconds=0.3, at_once=2)

        async def together():
            def request(body):
                return asyncio.to_thread(ask, app, body=body)

            stalling = [asyncio.create_task(request([b"x" * 9, None])) for _ in range(2)]
            await asyncio.sleep(0.1)
            small, large = await request([b"12"]), await request([b"x" * 9])
            return small, large, await asyncio.gather(*stalling)

        small, large, stalled = asyncio.run(together())
        assert small.status == 200 and [answer.status for answer in stalled] == [408, 408]
        assert (large.status, large.headers["retry-after"]) == (503, "5") and "try again" in large.error
        # What was refused or given up holds no room any more.
        assert app.room == 20 and ask(app, body=[b"x" * 9]).status == 200

    def test_an_application_that_reads_no_body_is_not_disturbed(self):
        assert ask(BodyLimit(deaf, max_bytes=10, seconds=0.01), body=[b"1", None]).status == 200

    def test_errors_of_the_application_pass(self):
        async def broken(scope, receive, send):
            raise KeyError("x")

        with pytest.raises(KeyError):
            ask(BodyLimit(broken, 10, 1.0))


def test_every_answer_has_the_security_headers():
    for app in (Guard(echo), guarded(echo), guarded(echo, token="t")):
        headers = ask(app, host="evil.example").headers
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'none'" and policy["script-src"] == policy["style-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'" and "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"


def test_a_header_of_the_application_stays():
    async def cached(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"Cache-Control", b"max-age=9")]})
        await send({"type": "http.response.body"})

    assert "cache-control" not in ask(Guard(cached), host="localhost").headers


class TestLog:
    def lines(self, caplog):
        return [json.loads(JsonLines().format(record)) for record in caplog.records]

    def test_a_request_is_one_line_without_its_query(self, caplog):
        with caplog.at_level(logging.INFO, "credo.app.serve"):
            answer = ask(guarded(echo, token="s3cret"), '/a"\n', query="token=s3cret", host="localhost")
        (line,) = self.lines(caplog)
        assert (line["method"], line["path"], line["status"]) == ("GET", '/a"\n', 200) and line["milliseconds"] >= 0
        assert line["id"] == answer.headers["x-request-id"]
        (record,) = caplog.records
        assert "s3cret" not in JsonLines().format(record) and "\n" not in JsonLines().format(record)

    def test_refused_requests_are_logged(self, caplog):
        with caplog.at_level(logging.INFO, "credo.app.serve"):
            ask(guarded(echo), host="evil.example")
        assert self.lines(caplog)[0]["status"] == 403

    def test_an_exception_is_logged_and_answered_without_details(self, caplog):
        async def broken(scope, receive, send):
            raise RuntimeError("a secret")

        with caplog.at_level(logging.INFO, "credo.app.serve"):
            answer = ask(AccessLog(broken))
        (line,) = self.lines(caplog)
        assert answer.status == line["status"] == 500 and b"secret" not in answer.body
        assert line["level"] == "error" and "a secret" in line["traceback"]
