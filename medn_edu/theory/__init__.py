"""Theory to read and to check against: plain algorithms without compiled code."""
