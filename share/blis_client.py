"""A client of `blis serve --stdio`; standard library only:

    with Blis() as blis:
        print(blis.evaluate({"lua": "return 'least-loaded'"}, scenario="chat-steady"))"""
import json
import subprocess
import threading
from concurrent.futures import Future


class BlisError(Exception):
    """A failed evaluation: code, message and, in a program, where."""

    def __init__(self, error):
        super().__init__("%s: %s" % (error["code"], error["message"]))
        self.code, self.where = error["code"], error.get("where")


class Blis:
    """A server process; evaluations run side by side and may be started from any thread."""

    def __init__(self, program="blis", *arguments):
        self.process = subprocess.Popen([program, "serve", "--stdio", *arguments], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.hello = json.loads(self.process.stdout.readline())
        self.open, self.lock, self.last = {}, threading.Lock(), 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            answer = json.loads(line)
            future = self.open.pop(answer["id"], None)
            if future and answer["ok"]:
                future.set_result(answer["result"])
            elif future:
                future.set_exception(BlisError(answer["error"]))
        for future in list(self.open.values()):
            future.set_exception(BlisError({"code": "internal", "message": "the server ended"}))

    def call(self, method, **params):
        """Starts a request; returns its future."""
        with self.lock:
            self.last += 1
            future = self.open[self.last] = Future()
            self.process.stdin.write(json.dumps(
                {"id": self.last, "method": method, "params": params}) + "\n")
            self.process.stdin.flush()
        return future

    def evaluate(self, program=None, **params):
        """The result of one evaluation; raises BlisError."""
        return self.call("evaluate", program=program, **params).result()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
