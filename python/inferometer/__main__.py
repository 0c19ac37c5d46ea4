"""python -m inferometer: the command."""
from ._run import main

main()
