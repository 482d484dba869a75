"""What an instructor runs: it compares and writes, and runs no student's code."""
