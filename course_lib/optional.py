"""Optional dependencies: the error for a package that is not installed."""


def missing(what: str, package: str, extra: str) -> ImportError:
    """An error, to be raised, that names the package and the extra that brings it.

    Args:
        what: The beginning of the sentence, as "Checkpoints need".
        package: The package that could not be imported.
        extra: The extra of pyproject.toml that lists it.
    """
    return ImportError(
        f"{what} {package}, which this environment does not have. Install the package "
        f"with its extra [{extra}]; in a clone of the course that is "
        f"pip install -e '.[{extra}]'."
    )
