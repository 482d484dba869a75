"""Build the book for a class that is to find the solutions, and the solutions apart.

_build/student/site         the book without solutions, without buttons for Colab
_build/student/notebooks    its pages as notebooks, without solutions
_build/solutions            the solutions, a notebook a page, for the instructor
"""

import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from exercises import only_solutions  # noqa: E402

BUILD = ("build", ".", "-W", "-n", "--keep-going", "--path-output")


def student_config() -> str:
    """The book's settings for this edition, as the text of a configuration.

    A button for Colab would open the repository's notebooks, which have the solutions.
    """
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    config["sphinx"]["config"]["show_solutions"] = False
    extensions = config["sphinx"]["local_extensions"]
    config["sphinx"]["local_extensions"] = {
        e: str(ROOT / p) for e, p in extensions.items()
    }
    config.pop("launch_buttons", None)
    return yaml.safe_dump(config, sort_keys=False)


def main() -> None:
    """Build the edition; Sphinx says what is wrong, if anything is."""
    out, solutions = ROOT / "_build" / "student", ROOT / "_build" / "solutions"
    out.mkdir(parents=True, exist_ok=True)
    config = out / "_config.yml"
    config.write_text(student_config(), encoding="utf-8")
    book = Path(sys.executable).with_name("jupyter-book")
    command = [book, *BUILD, out, "--config", config]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        raise SystemExit("The students' edition is not ready: see above.")
    made = {
        "site": out / "_build" / "html",
        "notebooks": out / "_build/html/_sources/book",
    }
    for name, folder in made.items():
        shutil.rmtree(out / name, ignore_errors=True)
        shutil.copytree(folder, out / name)
    for text in (out / "notebooks").rglob("*.md"):
        text.unlink()
    shutil.rmtree(solutions, ignore_errors=True)
    for page in sorted((out / "notebooks").rglob("*.ipynb")):
        path = page.relative_to(out / "notebooks")
        whole = nbformat.read(ROOT / "book" / path, as_version=nbformat.NO_CONVERT)
        kept = only_solutions(whole)
        if kept.cells:
            (solutions / path).parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(kept, solutions / path)
    sys.stdout.write(f"For the class: {out}/site and {out}/notebooks\n")
    sys.stdout.write(f"For you: {solutions}\n")


if __name__ == "__main__":
    main()
