"""`python -m cajole`: the command line, where its script is not on the path."""

from cajole.cli import main

main()
