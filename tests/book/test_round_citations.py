"""Citations name authors and year, in round brackets."""

import re

BIB = """\
@article{engel1857consumption,
  author = {Engel, Ernst},
  title = {A title},
  journal = {A journal},
  year = {1857},
}
"""


def test_authors_and_year_stand_as_in_a_journal(book):
    (book.folder / "references.bib").write_text(BIB)
    book.write(
        "\n{cite:t}`engel1857consumption` looked {cite:p}`engel1857consumption`.\n",
        "\n```{bibliography}\n```\n",
    )
    status, page, said = book.build(
        "sphinxcontrib.bibtex",
        "publishing",
        bibtex_bibfiles=["book/references.bib"],
        bibtex_reference_style="author_year_round",
    )
    assert status == 0, said
    words = " ".join(re.sub(r"<[^>]*>", "", page).split())
    assert "Engel (1857) looked (Engel, 1857)." in words
