"""What all studies share: fits and their rows, the runner, results on disk, summaries and publishing."""
