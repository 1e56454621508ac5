"""Let these tests import the robots that all tests share."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
