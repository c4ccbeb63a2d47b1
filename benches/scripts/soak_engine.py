"""The engine of soak.py: a process behind two pipes, every line with its time, every fault with its conversation."""

import collections
import os
import selectors
import subprocess
import time

SILENCE = 10  # seconds after which an engine that owes an answer is stuck
QUIT = 2.5  # seconds for the end after `quit`


class Fault(Exception):
    """Something went wrong: its kind, the details, and what was said."""

    def __init__(self, kind, what, engine):
        super().__init__(kind)
        self.kind, self.what, self.talk = kind, what, list(engine.talk)


class Engine:
    """A process that speaks UCI."""

    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.talk, self.rest = collections.deque(maxlen=60), b""
        self.owed = 0  # answers to isready
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)

    def send(self, line):
        """Sends it; answers with the time directly before that."""
        self.talk.append("> " + line)
        self.owed += line == "isready"
        now = time.monotonic()
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise self.crash() from None
        return now

    def crash(self):
        """Why the process is gone."""
        self.process.kill()
        code = self.process.wait()
        return Fault("crash", f"exit code {code}: {self.process.stderr.read().decode(errors='replace')[-2000:]}", self)

    def line(self, patience):
        """The next line and when it came; None when none comes in time."""
        until = time.monotonic() + patience
        while b"\n" not in self.rest:
            if not self.selector.select(max(0.0, until - time.monotonic())):
                return None
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                raise self.crash()
            self.rest += piece
        line, self.rest = self.rest.split(b"\n", 1)
        text, now = line.decode(errors="replace"), time.monotonic()
        self.talk.append("< " + text)
        self.owed -= text == "readyok"
        if "internal error" in text:
            raise Fault("panic", text, self)
        return text, now

    def read_to(self, start, patience=SILENCE):
        """The line that starts so; None when it has not come in time."""
        until = time.monotonic() + patience
        while True:
            found = self.line(max(0.0, until - time.monotonic()))
            if found is None or found[0].startswith(start):
                return found

    def bestmove(self, patience=None):
        """The move and when it came. None where none came within `patience` seconds; a fault without patience."""
        found = self.read_to("bestmove ", SILENCE if patience is None else patience)
        if found is not None:
            return found[0].split()[1], found[1]
        if patience is None:
            raise Fault("silence", "no bestmove", self)
        return None

    def ready(self):
        """Reads all that it still has to say."""
        self.send("isready")
        while self.owed:
            if self.read_to("readyok", 60) is None:
                raise Fault("silence", "no readyok", self)

    def end(self, how):
        """Ends by `quit` or by the end of its input, in time and with exit code 0."""
        if how == "quit":
            self.send("quit")
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.stdin = None
        try:
            # What it still says is read, or it could wait for us.
            _, errors = self.process.communicate(timeout=QUIT)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Fault("silence", f"no end after {how}", self) from None
        if self.process.returncode != 0 or errors:
            raise Fault("crash", f"exit code {self.process.returncode} after {how}: {errors.decode()[-2000:]}", self)

    def kill(self):
        self.process.kill()
        self.process.wait()
