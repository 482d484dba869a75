"""The client of chat completions, against a server that fails in all ways."""

import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from course_lib.measurement import Answer, Server, annotate, annotating, read_code

CODES = ["up", "down"]
PROMPT = [
    {"role": "system", "content": "Which way do prices go? {up} or {down}."},
    {"role": "user", "content": "Text: {text}"},
]
KEY = "sk-very-secret"


class Stub(ThreadingHTTPServer):
    """Answers each text with `script[text]`, one after the other, the last for good."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.asked, self.heard = {}, Counter(), []
        self.lock = threading.Lock()
        self.most = self.now = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # a client that has gone

    def server(self, **options):
        url = f"http://127.0.0.1:{self.server_port}/v1/"
        return Server(base_url=url, model="stub", **options)


def chat(content, **more):
    body = {"model": "stub-7b", "choices": [{"message": {"content": content}}]}
    return json.dumps(body | more).encode()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        stub = self.server
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = request["messages"][-1]["content"].removeprefix("Text: ")
        with stub.lock:
            replies = stub.script.get(text, [chat('{"code": "up"}')])
            reply = replies[min(stub.asked[text], len(replies) - 1)]
            stub.asked[text] += 1
            stub.heard.append((self.path, self.headers.get("Authorization"), request))
            stub.now += 1
            stub.most = max(stub.most, stub.now)
        time.sleep(0.01)
        try:
            self.reply(reply)
        finally:
            with stub.lock:
                stub.now -= 1

    def reply(self, reply):
        status, headers = 200, {}
        if reply == "slow":
            time.sleep(0.6)
            reply = chat("late")
        if reply == "hang up":
            self.connection.close()
            return
        if isinstance(reply, tuple):
            status, reply, *more = reply
            headers = more[0] if more else {}
        if reply == "cut off":
            headers["Content-Length"] = "1000"
            reply = chat("up")[:20]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format, *args):
        pass


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(annotating, "WAIT", 0.001)


@pytest.fixture
def stub():
    stub = Stub()
    yield stub
    stub.shutdown()
    stub.server_close()


def lines(log):
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ('{"code": "up"}', "up"),
        (' {"topic":"Down"}\n', "down"),
        ("up", "up"),
        ('"Up."', "up"),
        ("`down`", "down"),
        ('```json\n{"code": "up"}\n```', "up"),
        ('Here it is:\n```json\n{"code": "up"}\n```', None),
        ("up up up", None),
        ("up or down", None),
        ("It doesn't go up.", None),
        ('{"code": "sideways"}', None),
        ('{"code": "up", "why": "down"}', None),
        ('{"code": "u', None),
        ('{"code": ["up"]}', None),
        ("[]", None),
        ("{}", None),
        ("", None),
        ("null", None),
    ],
)
def test_an_unclear_answer_is_none_and_never_a_guess(raw, code):
    assert read_code(raw, CODES) == code


def test_codes_may_be_numbers():
    assert read_code("2", ["1", "2"]) == read_code('{"code": 2}', ["1", "2"]) == "2"
    assert read_code("12", ["1", "2"]) is None


def test_a_request_says_what_the_interface_asks_for(stub, tmp_path):
    log = tmp_path / "new" / "log.jsonl"
    text = 'Prices {rise} "now" {text} \\n é'
    found = annotate([text], PROMPT, CODES, stub.server(), log, field="way", seed=7)
    assert found == [
        Answer(code="up", raw='{"code": "up"}', served="stub-7b", time=found[0].time)
    ]
    path, authorization, request = stub.heard[0]
    assert path == "/v1/chat/completions"
    assert authorization is None
    assert request["messages"][0] == PROMPT[0]  # its braces are its own
    assert request["messages"][1]["content"] == f"Text: {text}"
    assert (request["temperature"], request["seed"]) == (0, 7)
    schema = request["response_format"]["json_schema"]["schema"]
    assert schema["properties"] == {"way": {"type": "string", "enum": CODES}}
    (line,) = lines(log)
    assert line["request"] == request
    assert line["answer"] == found[0].raw
    annotate([text], PROMPT, CODES, stub.server(), log, force=False)
    assert "response_format" not in stub.heard[1][2]


def test_every_passing_failure_is_tried_again(stub, tmp_path):
    stub.script = {
        "rate": [(429, b"slow down", {"Retry-After": "0.05"}), chat("down")],
        "busy": [(503, b"busy"), (500, b"oh"), chat("down")],
        "gone": ["hang up", chat("down")],
        "half": ["cut off", chat("down")],
        "page": [b"<html>a proxy's page</html>", chat("down")],
        "list": [b"[]", chat("down")],
        "none": [b'{"choices": []}', chat("down")],
        "late": ["slow", chat("down")],
    }
    log = tmp_path / "log.jsonl"
    texts = list(stub.script)
    found = annotate(texts, PROMPT, CODES, stub.server(timeout=0.3), log)
    assert [answer.code for answer in found] == ["down"] * len(texts)
    failed = {
        one["request"]["messages"][-1]["content"][6:]: one["failed"]
        for one in lines(log)
    }
    assert failed["rate"] == ["429"]
    assert failed["busy"] == ["503", "500"]
    assert all(failed.values())


def test_what_the_server_asks_to_wait_is_waited(stub, tmp_path):
    stub.script = {"a": [(429, b"", {"Retry-After": "0.4"}), chat("up")]}
    began = time.monotonic()
    annotate(["a"], PROMPT, CODES, stub.server(), tmp_path / "log.jsonl")
    assert time.monotonic() - began > 0.4


def test_a_server_that_never_answers_ends_with_what_is_in_the_log(stub, tmp_path):
    stub.script = {"c": [(503, b"busy")]}
    log = tmp_path / "log.jsonl"
    with pytest.raises(ConnectionError, match=r"in 3 tries \(503, 503, 503\)"):
        annotate(list("abc"), PROMPT, CODES, stub.server(tries=3), log, workers=1)
    assert stub.asked == {"a": 1, "b": 1, "c": 3}
    assert len(lines(log)) == 2
    stub.script = {}
    found = annotate(list("abcd"), PROMPT, CODES, stub.server(), log)
    assert [answer.code for answer in found] == ["up"] * 4
    assert stub.asked == {"a": 1, "b": 1, "c": 4, "d": 1}


def test_a_log_that_was_cut_off_goes_on(stub, tmp_path):
    log = tmp_path / "log.jsonl"
    annotate(list("ab"), PROMPT, CODES, stub.server(), log, workers=1)
    log.write_bytes(log.read_bytes()[:-9])  # the machine went off in b's line
    annotate(list("abc"), PROMPT, CODES, stub.server(), log, workers=1)
    assert stub.asked == {"a": 1, "b": 2, "c": 1}
    assert len(lines(log)) == 3


def test_another_prompt_model_or_option_is_asked_anew(stub, tmp_path):
    log = tmp_path / "log.jsonl"
    given = (CODES, stub.server(), log)
    for _ in range(2):
        annotate(["a", "a"], PROMPT, *given)
        annotate(["a"], PROMPT[1:], *given)
        annotate(["a"], PROMPT, *given, temperature=1)
        annotate(["a"], PROMPT, ["down", "up"], *given[1:])
    assert stub.asked == {"a": 4}


def test_nonsense_is_kept_as_it_came_and_counts_as_no_answer(stub, tmp_path):
    stub.script = {"a": [chat("As a language model, up up up")], "b": [chat(None)]}
    found = annotate(list("ab"), PROMPT, CODES, stub.server(), tmp_path / "log.jsonl")
    assert [answer.code for answer in found] == [None, None]
    assert [answer.raw for answer in found] == ["As a language model, up up up", ""]


def test_the_key_reaches_the_server_and_nothing_else(stub, tmp_path, monkeypatch):
    monkeypatch.setenv("STUB_KEY", KEY)
    stub.script = {"a": [chat(f"your key is {KEY}")], "b": [(401, KEY.encode())]}
    log, server = tmp_path / "log.jsonl", stub.server(key_from="STUB_KEY")
    found = annotate(["a"], PROMPT, CODES, server, log)
    assert stub.heard[0][1] == f"Bearer {KEY}"
    assert found[0].raw == "your key is [key]"
    with pytest.raises(ValueError, match=r"answered 401 .*\[key\]") as error:
        annotate(["b"], PROMPT, CODES, server, log)
    assert stub.asked["b"] == 1
    assert KEY not in log.read_text("utf-8") + repr(server) + str(error.value)
    monkeypatch.delenv("STUB_KEY")
    assert annotate(["a"], PROMPT, CODES, server, log) == found  # needs no server
    with pytest.raises(ValueError, match="STUB_KEY, which is empty"):
        annotate(["c"], PROMPT, CODES, server, log)


def test_a_redirection_does_not_carry_the_key_away(stub, tmp_path, monkeypatch):
    monkeypatch.setenv("STUB_KEY", KEY)
    other = Stub()
    where = {"Location": f"http://localhost:{other.server_port}/v1/chat/completions"}
    stub.script = {text: [(int(text), b"", where)] for text in ("302", "307")}
    for text in stub.script:
        with pytest.raises(ValueError, match=f"answered {text}"):
            annotate(
                [text],
                PROMPT,
                CODES,
                stub.server(key_from="STUB_KEY"),
                tmp_path / "log",
            )
    assert not other.heard
    other.shutdown()
    other.server_close()


def test_so_many_requests_are_under_way_as_there_are_workers(stub, tmp_path):
    texts = [str(n) for n in range(23)]
    annotate(texts, PROMPT, CODES, stub.server(), tmp_path / "a", workers=1)
    assert stub.most == 1
    annotate(texts, PROMPT, CODES, stub.server(), tmp_path / "b", workers=5)
    assert 1 < stub.most <= 5
    assert stub.asked == dict.fromkeys(texts, 2)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"texts": "one text"}, "texts must be a list of strings: got one string"),
        ({"texts": ["a", float("nan")]}, "texts must be a list .* other things"),
        ({"prompt": PROMPT[:1]}, r"no message has \{text\} in it"),
        ({"codes": ["up"]}, "codes must be two or more"),
        ({"codes": [0, 1]}, "codes must be text"),
        ({"codes": ["up", "Up"]}, "codes must be two or more"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is(
    stub, tmp_path, wrong, sentence
):
    given = {"texts": ["a"], "prompt": PROMPT, "codes": CODES, "server": stub.server()}
    with pytest.raises(ValueError, match=sentence):
        annotate(**given | wrong, log=tmp_path / "log.jsonl")
    assert not stub.heard
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_log_is_left_as_it_is(stub, tmp_path):
    log = tmp_path / "thesis.txt"
    log.write_text("Chapter 1\nOnce upon a time", "utf-8")
    with pytest.raises(ValueError, match=r"line 1 of .*thesis\.txt is not"):
        annotate(["a"], PROMPT, CODES, stub.server(), log)
    assert log.read_text("utf-8") == "Chapter 1\nOnce upon a time"
    log.write_text("Once upon a time, all in one line", "utf-8")
    with pytest.raises(ValueError, match="line 1"):
        annotate(["a"], PROMPT, CODES, stub.server(), log)
    assert log.read_text("utf-8") == "Once upon a time, all in one line"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"base_url": "localhost:8000/v1"}, "base_url must begin with https://"),
        ({"base_url": "http://example.org/v1", "key_from": "K"}, "in the clear"),
        (
            {"base_url": "https://example.org/v1", "tries": 0},
            "tries must be at least 1",
        ),
    ],
)
def test_a_server_that_cannot_be_asked_is_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        Server(model="stub", **options)


def test_a_server_that_is_not_there_says_so(tmp_path):
    nobody = Server(base_url="http://127.0.0.1:9/v1", model="m", tries=2)
    with pytest.raises(
        ConnectionError, match=r"no answer from http://127\.0\.0\.1:9/v1 in 2"
    ):
        annotate(["a"], PROMPT, CODES, nobody, tmp_path / "log.jsonl")
