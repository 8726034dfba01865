"""The lab's application as a whole: pages, guard and limits."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")

import uvicorn  # noqa: E402
from fastapi.testclient import TestClient  # noqa: E402

from credo.app.lab.server import JSON_BYTES, PAGES, PORT, STATIC, _listener, application, page_of, run  # noqa: E402
from credo.app.serve.server import _Protocol  # noqa: E402


@pytest.fixture(scope="module")
def client():
    with TestClient(application("secret"), base_url="http://127.0.0.1:8000") as client:
        yield client


TOKEN = {"authorization": "Bearer secret"}


@pytest.mark.parametrize("path", PAGES)
def test_every_page_needs_the_token(client, path):
    assert client.get(path).status_code == 401
    answer = client.get(path, headers=TOKEN)
    assert answer.status_code == 200
    assert "Credo lab" in answer.text


def test_the_token_in_the_address_becomes_a_cookie_for_what_the_page_loads():
    with TestClient(application("secret"), base_url="http://127.0.0.1:8000") as client:
        assert client.get("/?token=secret").status_code == 200
        assert client.get("/static/style.css").status_code == 200


@pytest.mark.parametrize(
    "headers", [{"host": "evil.example"}, {"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}], ids=str
)
def test_other_hosts_and_origins_are_refused(client, headers):
    assert client.get("/api/playground/catalogue", headers=TOKEN | headers).status_code == 403


def test_large_bodies_are_refused(client):
    answer = client.post("/api/playground/answer", content=b"x" * (JSON_BYTES + 1), headers=TOKEN)
    assert answer.status_code == 413


@pytest.mark.parametrize(
    "body",
    [b'{"target": "y", "seconds": NaN}', b'{"target": "\\ud800"}', b'{"target": "y", "models": ["\\ud800"]}', b"\xff"],
)
def test_values_that_answers_cannot_hold_are_refused(client, body):
    made = client.post("/api/jobs", content=b"x,y\n1,2\n3,4\n", headers=TOKEN)
    address = f"/api/jobs/{made.json()['id']}"
    kind = "application/json" if body.isascii() else "text/plain"
    answer = client.post(f"{address}/run", content=body, headers=TOKEN | {"content-type": kind})
    assert answer.status_code == 422 and isinstance(answer.json()["detail"], str)
    assert client.delete(address, headers=TOKEN).status_code == 204


def test_only_tables_may_be_large(client):
    """A JSON value is parsed in this process."""
    for path in ("/api/jobs/x/run", "/api/jobs/x/predict", "/api/jobs/x/predictions/"):
        assert client.post(path, content=b"x" * (JSON_BYTES + 1), headers=TOKEN).status_code == 413
    for path in ("/api/jobs/x/predictions",):
        assert client.post(path, content=b"x" * (JSON_BYTES + 1), headers=TOKEN).status_code == 404


def test_the_server_has_the_limits_of_the_model_server(monkeypatch):
    """Half a header is given up there; `tests/app/serve/test_process.py` tests that."""
    made = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: made.append(self.config))
    run(ready=lambda address: made.append(address))
    address, config = made
    assert address.startswith("http://127.0.0.1:")
    assert issubclass(config.http, _Protocol) and 0 < config.http.seconds <= 30
    assert config.ws == "none" and not config.proxy_headers


@pytest.mark.parametrize(
    "link", ["/", "", "#abc", "/lessons?id=ard&step=2", "http://localhost:9/?data=xor&token=old#a"]
)
def test_a_link_keeps_its_page_and_gets_this_token(link):
    given, made = urlsplit(link), urlsplit(page_of(link, "new"))
    assert (made.path, made.fragment) == (given.path or "/", given.fragment)
    expected = {name: values for name, values in parse_qs(given.query).items() if name != "token"}
    assert parse_qs(made.query) == {**expected, "token": ["new"]} and not made.netloc


@pytest.mark.parametrize("link", ["/nowhere", "https://example.org/", "file.html"])
def test_other_links_are_refused_with_examples(link):
    with pytest.raises(ValueError, match=r"isn't a link to the lab.*'/\?data=sinusoid&model=gp'"):
        page_of(link, "token")


def test_the_default_port_is_fixed_unless_it_is_taken():
    with _listener(None) as first, _listener(None) as second, _listener(0) as third:
        ports = [each.getsockname()[1] for each in (first, second, third)]
    assert len(set(ports)) == 3 and all(ports) and PORT not in ports[1:]


def test_pages_and_scripts_name_nothing_outside_and_nothing_inline():
    """The policy forbids both, so that they would be dead code in a browser."""
    files = [path for path in STATIC.rglob("*") if path.suffix in {".html", ".js", ".css"}]
    assert files
    for path in files:
        text = path.read_text("utf-8")
        outside = re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}[^\s\"'`]*", text)
        assert not [address for address in outside if "www.w3.org" not in address], (path, outside)
        if path.suffix == ".html":
            assert not re.search(r"<script(?![^>]*\bsrc=)|\son[a-z]+=|\sstyle=", text), path


def test_answers_forbid_inline_scripts(client):
    policy = client.get("/", headers=TOKEN).headers["content-security-policy"]
    assert "script-src 'self'" in policy and "unsafe-inline" not in policy
