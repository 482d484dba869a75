"""What to say when a package is missing that only some parts of the course need."""


def missing(what: str, package: str, extra: str) -> ImportError:
    """The error that names the package and the extra that brings it.

    Args:
        what: Who needs it, at the start of a sentence, with its verb.
        package: The package that could not be imported.
        extra: The extra of pyproject.toml that lists it.

    Returns:
        An error to be raised from the one that was met.
    """
    return ImportError(
        f"{what} {package}, which this environment does not have. Install the package "
        f"with its extra [{extra}]; in a clone of the course that is "
        f"pip install -e '.[{extra}]'."
    )
