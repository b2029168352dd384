"""Speed, memory and accuracy, next to peers that run the same task in the same run."""
