"""Optional dependencies: the error for a package that is not installed."""


def missing(what: str, package: str, extra: str) -> ImportError:
    """An error, to be raised, that names the package and the extra that brings it.

    `what` begins its sentence, as "Checkpoints need".
    """
    return ImportError(
        f"{what} {package}, which this environment does not have. Install the package "
        f"with its extra [{extra}]; in a clone of the course that is "
        f"pip install -e '.[{extra}]'."
    )
