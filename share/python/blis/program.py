"""Where the program is, and the command `blis` of a Python environment."""
import os
import pathlib
import shutil
import sys


def path() -> str:
    """BLIS_PROGRAM, the one in this package, or the first on PATH."""
    given = os.environ.get("BLIS_PROGRAM")
    if given:
        return given
    inside = pathlib.Path(__file__).resolve().parent / "bin" / "blis"
    if inside.is_file():
        return str(inside)
    # The command of this package would call itself.
    own = os.path.realpath(sys.argv[0])
    found = shutil.which("blis")
    if found and os.path.realpath(found) != own:
        return found
    raise FileNotFoundError("the program blis is not there: install the wheel, or set BLIS_PROGRAM")


def main() -> None:
    """Becomes the program."""
    program = path()
    os.execv(program, ["blis"] + sys.argv[1:])
