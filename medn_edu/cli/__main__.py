"""``python -m medn_edu.cli``, where the command ``medn-edu`` is not on the path."""

import sys

from medn_edu.cli import main

sys.exit(main())
