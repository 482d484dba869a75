"""The repository's address stands in the settings, and pages ask for it."""


def test_pages_name_the_repository_as_the_settings_do(book):
    book.write(
        "\nIt is at <{{ repository }}>.\n\n```\ngit clone {{ repository }}\n```\n"
    )
    options = {"repository_url": "https://example.org/fork/course/"}
    status, page, said = book.build(
        "publishing", builder="text", html_theme_options=options
    )
    assert status == 0, said
    assert "It is at https://example.org/fork/course." in page
    assert "git clone https://example.org/fork/course\n" in page
