"""Lets otter-grader give the marks of the sandbox, with `otter run`.

otter runs a submission in the process of its tests, where an answer can replace them.
So it gets an empty notebook to run, and this plugin gives it the points that the
submission earned in a sandbox before.
"""

from pathlib import Path
from typing import Any

import nbformat
from otter.plugins import AbstractOtterPlugin

from .assignment import Assignment
from .handed_in import HandedIn
from .isolation import Bare, Bubblewrap
from .mark import Limits, Marker
from .tables import feedback


class Sandboxed(AbstractOtterPlugin):
    """Named in `otter_config.json` with an assignment, as `assignment.json` has it."""

    row: dict[str, Any]

    def before_execution(self, submission: Any) -> Any:
        """Mark the file that was handed in, and give otter nothing to run."""
        isolation = Bubblewrap()
        if isolation.missing():
            isolation = Bare()
        assignment = Assignment.of(self.plugin_config)
        path = Path(self.submission_path)
        with Marker(assignment, isolation, assignment.seed, Limits()) as marker:
            self.row = marker.mark(HandedIn(path.stem, "your submission", path))
        self.text = feedback(self.row, assignment)
        kept = getattr(submission, "metadata", {})
        return nbformat.v4.new_notebook(metadata=kept)

    def after_grading(self, results: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Put the sandbox's points in the place of the tests'."""
        for name in results.test_files:
            results.update_score(name, 0)
        for part in self.row["parts"]:
            results.update_score(part["answer"], part["points"] or 0)
            # The tests saw the empty notebook, and students see what public ones say.
            for case in results.get_result(part["answer"]).test_case_results:
                case.passed = part["report"]["passed"]
                case.message = part["report"]["message"]
        flagged = [p for p in self.row["parts"] if p["points"] is None]
        if not self.row["marked"] or flagged:  # no mark, rather than one of 0
            why = [p["report"]["flag"] for p in flagged] or [self.row["message"]]
            raise RuntimeError(" ".join(why))
        results.set_output(self.text)
