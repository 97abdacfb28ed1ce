"""`python -m benchmarks.gpu`."""

import sys

from benchmarks.gpu.first_hour import main

sys.exit(main(sys.argv[1:]))
