"""`python -m anynet_study` is `anynet-study`."""

from anynet_study.cli import main

main()
