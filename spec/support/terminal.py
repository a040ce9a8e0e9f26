"""Runs a program on a terminal of its own and tells what one sees there.

python3 terminal.py COLUMNS ROWS STEPS [NAME=VALUE ...] PROGRAM [ARGUMENT ...]

STEPS is a JSON list of what a person does, in order:
  ["see", TEXT]         wait until TEXT is on the screen
  ["told", TEXT]        wait until the program has written TEXT since the last step
  ["prompt"]            wait until keys are read one by one, as editors of lines do
  ["run"]               wait until they are not, and Ctrl-C is a signal again
  ["type", TEXT]        press these keys ("\u0003" is Ctrl-C)
  ["size", COLUMNS, ROWS]
  ["end"]               wait for the end of the program (also the last step)
Written out is a JSON object: screen (lines as they stand there at the end), text (all that was
written), status (128 + n for signal n), and problem when a step took too long.
"""
import codecs, fcntl, json, os, pty, re, select, signal, struct, sys, termios, time

PATIENCE_S = 60


class Screen:
    """As much of a terminal as is needed: cursor, lines, wrapping, erasing."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.lines, self.x, self.y, self.wraps = [[]], 0, 0, True
        self.rest = ""

    def feed(self, text):
        text, self.rest = self.rest + text, ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                found = re.compile(r"\x1b(\[([?>=]?)([\d;]*)([@-~])|[()][A-Z0-9]|[=>78M])").match(
                    text, at)
                if not found:
                    if len(text) - at < 12:
                        self.rest = text[at:]
                        return
                    at += 1
                    continue
                if found.group(4):
                    self.command(found.group(2), found.group(3), found.group(4))
                at = found.end()
            else:
                self.put(text[at])
                at += 1

    def line(self):
        while len(self.lines) <= self.y:
            self.lines.append([])
        return self.lines[self.y]

    def top(self):
        return max(0, len(self.lines) - self.rows)

    def put(self, letter):
        if letter == "\n":
            self.y += 1
            self.line()
        elif letter == "\r":
            self.x = 0
        elif letter == "\b":
            self.x = max(0, min(self.x, self.columns - 1) - 1)
        elif letter >= " ":
            if self.x >= self.columns:
                if not self.wraps:
                    return
                self.x, self.y = 0, self.y + 1
            line = self.line()
            line.extend(" " * (self.x + 1 - len(line)))
            line[self.x] = letter
            self.x += 1

    def command(self, mark, numbers, letter):
        first = int(numbers.split(";")[0] or 0) if not mark or mark == "?" else 0
        many = max(1, first)
        line = self.line()
        if mark == "?" and letter in "hl" and first == 7:
            self.wraps = letter == "h"
        elif mark:
            pass
        elif letter == "A":
            self.y = max(self.top(), self.y - many)
        elif letter == "B":
            self.y += many
        elif letter == "C":
            self.x = min(self.columns - 1, self.x + many)
        elif letter == "D":
            self.x = max(0, self.x - many)
        elif letter == "G":
            self.x = many - 1
        elif letter == "H":
            place = [int(n or 1) for n in (numbers or "1").split(";")] + [1]
            self.y, self.x = self.top() + place[0] - 1, place[1] - 1
        elif letter == "K":
            del line[self.x:]
        elif letter == "J" and first == 0:
            del line[self.x:]
            del self.lines[self.y + 1:]
        elif letter == "J":
            del self.lines[self.top():]
            self.y = self.x = 0
        elif letter == "P":
            del line[self.x:self.x + many]
        elif letter == "@":
            line[self.x:self.x] = " " * many

    def text(self):
        return "\n".join("".join(line).rstrip() for line in self.lines)


def main():
    columns, rows, steps = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
    words = sys.argv[4:]
    changes = {"TERM": "xterm"}
    while "=" in words[0]:
        name, value = words.pop(0).split("=", 1)
        changes[name] = value
    size = struct.pack("HHHH", rows, columns, 0, 0)
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, size)
        for name in ("NO_COLOR", "BLIS_HISTORY", "XDG_STATE_HOME"):
            os.environ.pop(name, None)
        os.environ.update(changes)
        os.execvp(words[0], words)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)
    screen, text, decoder = Screen(columns, rows), "", codecs.getincrementaldecoder("utf-8")("replace")
    problem, is_open, last = "", True, 0

    def take():
        """Takes what has come; False at the end."""
        nonlocal text, is_open
        try:
            some = os.read(terminal, 65536)
        except OSError:
            some = b""
        is_open = some != b""
        some = decoder.decode(some)
        text += some
        screen.feed(some)
        return is_open

    def read(until):
        """Takes what comes until the condition holds; False when it takes too long."""
        end = time.monotonic() + PATIENCE_S
        while not until():
            if not is_open:
                return until()
            if time.monotonic() > end:
                return False
            if select.select([terminal], [], [], 0.01)[0]:
                take()
        return True

    def is_edited():
        return not termios.tcgetattr(terminal)[3] & termios.ICANON

    def runs():
        # Editors give the terminal back in two moves: before the second one Ctrl-C is a key.
        return not is_edited() and termios.tcgetattr(terminal)[6][termios.VINTR] == b"\x03"

    for step in steps + [["end"]]:
        what, rest = step[0], step[1:]
        if what == "see":
            done = read(lambda: rest[0] in screen.text())
        elif what == "told":
            done = read(lambda: rest[0] in text[last:])
        elif what == "prompt":
            done = read(is_edited)
        elif what == "run":
            done = read(runs)
        elif what == "end":
            done = read(lambda: not is_open)
        else:
            while select.select([terminal], [], [], 0)[0] and take():
                pass  # what was there before
            done, last = True, len(text)
            if what == "type":
                os.write(terminal, rest[0].encode())
            else:
                fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rest[1], rest[0], 0, 0))
                screen.columns, screen.rows = rest
                os.kill(child, signal.SIGWINCH)
        if not done:
            problem = "waited in vain: " + json.dumps(step)
            os.kill(child, signal.SIGKILL)
            break
    status = os.waitpid(child, 0)[1]
    status = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
    print(json.dumps({"screen": screen.text(), "text": text, "status": status, "problem": problem}))


main()
