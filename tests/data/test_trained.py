"""Stored weights: small, and asked for by name."""

import pytest

from course_lib import data
from course_lib.data.trained import _FOLDER


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"name must be one of .*: got 'gtp'\."):
        data.trained("gtp")


def test_every_file_is_small_and_found_by_its_name():
    for file in _FOLDER.glob("*.safetensors"):
        assert data.trained(file.stem) == file
        larger = {"text-as-data": 3_000_000, "presidents": 2_500_000}
        most = larger.get(file.stem, 1_000_000)
        assert file.stat().st_size < most
