"""What all explorers share: `Explorer`, its controls, films, and the style of all figures."""
