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


def waits(process="self"):
    """For how long each thread of a process has waited for a processor so far (seconds), as Linux counts it.

    Empty where the system does not tell.
    """
    found = {}
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/schedstat") as file:
                found[thread] = int(file.read().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        pass  # A thread that has just ended, or another system.
    return found


def grown(before, after):
    """What the threads waited between two answers of `waits`: the one that waited longest, and all (seconds)."""
    each = [wait - before.get(thread, 0.0) for thread, wait in after.items()]
    return max(each, default=0.0), sum(each)


class Engine:
    """A process that speaks UCI."""

    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.talk, self.rest = collections.deque(maxlen=60), b""
        self.owed = 0  # answers to isready
        self.looked = {}, {}, 0.0
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

    def look(self):
        """From here on `starved` counts."""
        self.looked = waits(self.process.pid), waits(), self.processor()

    def starved(self):
        """Since `look`, in ms: the longest wait of an engine's thread for a processor, all its threads' waits, the
        wait of this script, and the time that the engine's threads ran, all together."""
        engine, script, ran = self.looked
        found = (*grown(engine, waits(self.process.pid)), grown(script, waits())[0], self.processor() - ran)
        return dict(zip(("longest", "all", "script", "ran"), (round(seconds * 1000, 3) for seconds in found)))

    def processor(self):
        """The processor time that the engine has used (seconds); 0 where the system does not tell."""
        try:
            # The number that clock_getcpuclockid answers on Linux, nanoseconds exact.
            return time.clock_gettime((~self.process.pid << 3) | 2)
        except (AttributeError, OSError):
            return 0.0

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
