"""medn_edu."""

__version__ = "0.1.0"
