"""Labels for texts from a chat model, with a log of all that was asked and answered.

Any server will do that speaks the common chat-completions interface, which most
providers and local servers do (vLLM, llama.cpp, Ollama). Standard library only.
"""

import hashlib
import json
import os
import random
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message
from http.client import HTTPException
from pathlib import Path
from typing import Any

__all__ = ["Answer", "Server", "annotate", "read_code"]

PLACE = "{text}"
LOCAL = {"localhost", "127.0.0.1", "::1"}
LATER = {408, 409, 425, 429, 500, 502, 503, 504, 529}  # worth another try
WAIT, LONGEST_WAIT = 1.0, 60.0  # seconds before the second try, and at most
FENCE = re.compile(r"^```\w*\n(.*)\n```$", re.DOTALL)  # Markdown around an answer
BEGINS = b'{"time": "'  # each line of a log
READ = ("answer", "served", "time")  # what is read of it again


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server of chat completions, and how patiently it is asked."""

    base_url: str  #: Ends before `/chat/completions`, often with `/v1`
    model: str  #: As this server calls it
    key_from: str | None = None  #: The environment variable that holds the key
    timeout: float = 60.0  #: Seconds until an answer counts as lost
    tries: int = 6  #: The second after a second, the third after two more, then four

    def __post_init__(self) -> None:
        url = urllib.parse.urlsplit(self.base_url)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError(
                f"base_url must begin with https:// or http://: got {self.base_url!r}. "
                "A local server often has http://localhost:8000/v1."
            )
        if self.key_from and url.scheme == "http" and url.hostname not in LOCAL:
            raise ValueError(
                f"a key must not travel in the clear: got key_from={self.key_from!r} "
                f"and base_url={self.base_url!r}. Use https://, or a server on "
                "localhost."
            )
        if self.tries < 1:
            raise ValueError(f"tries must be at least 1: got {self.tries}.")

    @property
    def key(self) -> str | None:
        """The key, read anew each time and never stored."""
        if self.key_from is None:
            return None
        if not os.environ.get(self.key_from):
            raise ValueError(
                f"the key must be in the environment variable {self.key_from}, which "
                "is empty. Set it in the shell that starts Python, not in the code."
            )
        return os.environ[self.key_from]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back for one text."""

    code: str | None  #: None where the raw answer is none of the codes
    raw: str  #: All that the model wrote
    served: str  #: The model, as the server names it
    time: str  #: When it answered, in UTC


def annotate(
    texts: Sequence[str],
    prompt: Sequence[Mapping[str, str]],
    codes: Sequence[str],
    server: Server,
    log: str | Path,
    *,
    field: str = "code",
    force: bool = True,
    workers: int = 4,
    **options: Any,
) -> list[Answer]:
    """Label each text with one of the codes.

    Every answer is written to the log before the next is asked for, and what the log
    has isn't asked again. After an interruption the same call goes on where it stopped.

    Args:
        texts: To be labelled; equal ones are asked for once.
        prompt: Messages, each with its `role` and `content`. In one of them or more
            stands `{text}`.
        codes: What an answer may be.
        server: Who answers.
        log: A file of one JSON object a line, made or continued. It holds the texts,
            and no key.
        field: What the code is called in the answer, `{"code": "economy"}`. It is part
            of the prompt: a model may answer otherwise to "topic".
        force: Ask the server to allow no answer but this, with one of the codes
            (structured output). Not every server can.
        workers: Requests under way at a time.
        **options: Further fields of the request. `temperature` is 0 and `max_tokens` 50
            if nothing else is said.

    Raises:
        ValueError: A prompt without its place for the text, codes that can't be told
            apart, a log that is none, or a request that the server refuses.
        ConnectionError: No answer in all tries. What came before is in the log.
    """
    _check(texts, prompt, codes)
    shared: dict[str, Any] = {"model": server.model, "temperature": 0, "max_tokens": 50}
    shared |= options
    if force:
        shared["response_format"] = _format(codes, field)
    requests = [shared | {"messages": _fill(prompt, text)} for text in texts]
    path = Path(log)
    known = _read_log(path)
    todo = {k: r for r in requests if (k := _digest(r)) not in known}
    if todo:
        key = server.key  # an empty one is noticed before the first request
        path.parent.mkdir(parents=True, exist_ok=True)
        writing = threading.Lock()
        with path.open("a", encoding="utf-8") as file:

            def ask(item: tuple[str, dict[str, Any]]) -> None:
                digest, request = item
                line = _ask(server, request, key)
                with writing:
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")
                    file.flush()
                    known[digest] = line

            _all(ask, todo.items(), workers)
    lines = [known[_digest(request)] for request in requests]
    return [
        Answer(
            code=read_code(line["answer"], codes),
            raw=line["answer"],
            served=line["served"],
            time=line["time"],
        )
        for line in lines
    ]


def read_code(raw: str, codes: Sequence[str]) -> str | None:
    """Read the code in an answer, or None: an answer that is unclear isn't guessed at.

    A code stands alone or is all that a JSON object holds, also in a block of Markdown;
    quotes, a final period and capitals don't matter. A sentence that mentions a code is
    none.
    """
    text = FENCE.sub(r"\1", raw.strip())
    try:
        found = json.loads(text)
    except ValueError:
        found = text
    if isinstance(found, dict):
        found = next(iter(found.values())) if len(found) == 1 else None
    plain = str(found).strip().removesuffix(".").strip(" \"'`").casefold()
    return {code.casefold(): code for code in codes}.get(plain)


def _check(
    texts: Sequence[str], prompt: Sequence[Mapping[str, str]], codes: Sequence[str]
) -> None:
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise ValueError(
            "texts must be a list of strings: got "
            f"{'one string' if isinstance(texts, str) else 'other things in it'}. "
            "Missing texts are to be left out before."
        )
    if not any(PLACE in message["content"] for message in prompt):
        raise ValueError(
            f"the prompt must say where the text goes: no message has {PLACE} in it. "
            f'A message for it alone is {{"role": "user", "content": "{PLACE}"}}.'
        )
    if not all(isinstance(code, str) for code in codes):
        raise ValueError(
            f"codes must be text, as the model writes them: got {list(codes)}. For 0 "
            "and 1 write '0' and '1', and turn the answers into numbers."
        )
    if len({code.strip().casefold() for code in codes}) < max(2, len(codes)):
        raise ValueError(
            "codes must be two or more that differ not by capitals alone: got "
            f"{list(codes)}."
        )


def _fill(prompt: Sequence[Mapping[str, str]], text: str) -> list[dict[str, str]]:
    """The messages with the text in its place, whatever braces it has itself."""
    return [
        {**message, "content": message["content"].replace(PLACE, text)}
        for message in prompt
    ]


def _format(codes: Sequence[str], field: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {field: {"type": "string", "enum": list(codes)}},
        "required": [field],
        "additionalProperties": False,
    }
    named = {"name": "answer", "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": named}


def _digest(request: Mapping[str, Any]) -> str:
    text = json.dumps(request, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _read_log(path: Path) -> dict[str, dict[str, Any]]:
    """The lines of a log by what was asked; a last line that was cut off goes."""
    if not path.is_file():
        return {}
    whole = path.read_bytes()
    kept = whole[: whole.rfind(b"\n") + 1]
    known: dict[str, dict[str, Any]] = {}
    lines = kept.decode("utf-8").split("\n")[:-1]
    cut = whole[len(kept) :]
    if not cut.startswith(BEGINS[: len(cut)]):
        lines.append("")  # no line of ours, so that the file isn't touched
    for number, line in enumerate(lines, 1):
        try:
            found = json.loads(line)
            known[_digest(found["request"])] = {name: found[name] for name in READ}
        except (ValueError, KeyError, TypeError):
            raise ValueError(
                f"each line of a log must be one that annotate has written: line "
                f"{number} of {path} is not. Take the line out, or name another file."
            ) from None
    if cut:
        path.write_bytes(kept)
    return known


def _all(ask: Any, items: Iterable[Any], workers: int) -> None:
    """Call for all items; the first failure, or Ctrl-C, ends what hasn't begun."""
    with ThreadPoolExecutor(max_workers=workers) as pool:
        waiting = [pool.submit(ask, item) for item in items]
        try:
            for one in waiting:
                one.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


class _StayHere(urllib.request.HTTPRedirectHandler):
    """Follows no redirection, which would carry the key elsewhere."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_StayHere)


def _ask(server: Server, request: dict[str, Any], key: str | None) -> dict[str, Any]:
    """One answer, as a line of the log."""
    failed: list[str] = []
    while True:
        began = time.monotonic()
        try:
            body = _post(server, request, key)
            choice = body["choices"][0]
            answer = choice["message"]["content"] or ""
            return {
                "time": datetime.now(UTC).isoformat(timespec="seconds"),
                "request": request,
                "served": str(body.get("model", "")),
                "fingerprint": body.get("system_fingerprint"),
                "answer": _without(key, answer),
                "finish": choice.get("finish_reason"),
                "usage": body.get("usage"),
                "seconds": round(time.monotonic() - began, 3),
                "failed": failed,
            }
        except urllib.error.HTTPError as error:
            with error:
                said = _without(key, error.read(300).decode("utf-8", "replace"))
            if error.code not in LATER:
                raise ValueError(
                    f"the server must accept the request: {server.base_url} answered "
                    f"{error.code} {error.reason}: {said!r}. Look at base_url, at the "
                    "model's name and the key; a server without structured output "
                    "needs force=False."
                ) from None
            failed.append(str(error.code))
            pause = _pause(len(failed), error.headers)
        except (OSError, HTTPException, ValueError, LookupError, TypeError) as error:
            failed.append(type(error).__name__)  # lost, late, cut off or no answer
            pause = _pause(len(failed))
        if len(failed) == server.tries:
            raise ConnectionError(
                f"no answer from {server.base_url} in {server.tries} tries "
                f"({', '.join(failed)}). What was answered before is in the log: call "
                "again to go on, with more tries or fewer workers."
            )
        time.sleep(pause)


def _post(
    server: Server, request: Mapping[str, Any], key: str | None
) -> dict[str, Any]:
    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    call = urllib.request.Request(
        f"{server.base_url.rstrip('/')}/chat/completions",
        data=json.dumps(request).encode(),
        headers=headers,
    )
    with _OPENER.open(call, timeout=server.timeout) as response:
        return json.load(response)


def _pause(failures: int, headers: Message | None = None) -> float:
    """Seconds to wait: what the server says, or twice as long each time."""
    try:
        asked = float(headers["Retry-After"]) if headers else 0.0
    except (TypeError, ValueError):  # none, or a date
        asked = 0.0
    usual = WAIT * 2 ** (failures - 1) * random.uniform(0.75, 1.25)
    return min(max(asked, usual), LONGEST_WAIT)


def _without(key: str | None, text: str) -> str:
    """The text without the key, should a server repeat it."""
    return text.replace(key, "[key]") if key else text
