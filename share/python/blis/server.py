"""A process of `blis serve --stdio`, and what Python says to it. Standard library only."""
import atexit
import json
import os
import subprocess
import threading
from concurrent.futures import Future
from typing import Any, Callable, Dict, Optional

from . import program

Progress = Callable[[Dict[str, Any]], None]


class BlisError(Exception):
    """What the simulator says is wrong: `code`, `message`, and `where` ({"file", "line"}) when it
    is in a policy."""

    def __init__(self, error: Dict[str, Any]):
        super().__init__(error["message"])
        self.code: str = error["code"]
        self.message: str = error["message"]
        self.where: Optional[Dict[str, Any]] = error.get("where")


class Server:
    """A server process. Requests run side by side, as many as there are processors, and may come
    from any thread. It ends with `close`, with the `with` statement, and with Python itself,
    however that ends: the server reads from a pipe, and the end of the pipe is its end."""

    def __init__(self, *arguments: str, program_path: Optional[str] = None):
        self.process = subprocess.Popen(
            [program_path or program.path(), "serve", "--stdio", *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", errors="replace",
            # An interrupt is for Python, which then ends the server.
            start_new_session=True)
        self.pid = os.getpid()
        self._open: Dict[int, Any] = {}
        self._lock = threading.Lock()
        self._last = 0
        line = self.process.stdout.readline()
        if not line:
            raise BlisError({"code": "internal", "message": "the server ended with status %s before "
                             "it was ready" % self.process.wait()})
        self.hello: Dict[str, Any] = json.loads(line)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout:
            answer = json.loads(line)
            future, progress = self._open.get(answer["id"], (None, None))
            if "progress" in answer:
                if progress:
                    self._tell(answer, future, progress)
                continue
            self._open.pop(answer["id"], None)
            if future and answer["ok"]:
                future.set_result(answer["result"])
            elif future:
                future.set_exception(BlisError(answer["error"]))
        with self._lock:
            left, self._open = list(self._open.values()), {}
        for future, _ in left:
            future.set_exception(BlisError({"code": "internal", "message": "the server ended"}))

    def _tell(self, answer: Dict[str, Any], future: "Future[Any]", progress: Progress) -> None:
        """What the caller's function raises is for who waits; the others' answers go on."""
        try:
            progress(answer["progress"])
        except Exception as problem:
            self._open.pop(answer["id"], None)
            future.set_exception(problem)

    def call(self, method: str, params: Dict[str, Any],
             progress: Optional[Progress] = None) -> "Future[Any]":
        """Sends a request; its answer comes to the future."""
        future: "Future[Any]" = Future()
        with self._lock:
            if self.process.poll() is not None:
                raise BlisError({"code": "internal", "message": "the server ended"})
            self._last += 1
            message = {"id": self._last, "method": method, "params": params,
                       "progress": progress is not None}
            line = json.dumps(message, allow_nan=False) + "\n"
            # What cannot be said in JSON has raised by now, and is nothing to wait for.
            future.number = self._last  # type: ignore[attr-defined]
            self._open[self._last] = (future, progress)
            self.process.stdin.write(line)
            self.process.stdin.flush()
        return future

    def cancel(self, future: "Future[Any]") -> None:
        """Ends a request that nobody waits for any more; its future raises BlisError."""
        self.call("cancel", {"target": future.number})  # type: ignore[attr-defined]

    def close(self) -> None:
        """Ends the process, and whatever it is running."""
        if self.pid != os.getpid():
            return  # a child of a fork: the server is not its own
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        if self._open:
            self.process.terminate()
        self.process.wait()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


_usual: Optional[Server] = None
_usual_lock = threading.Lock()


def usual() -> Server:
    """The server of those who do not name one: started by the first call, ended with Python."""
    global _usual
    with _usual_lock:
        is_gone = _usual and (_usual.pid != os.getpid() or _usual.process.poll() is not None)
        if _usual is None or is_gone:
            _usual = Server()
            atexit.register(_usual.close)
        return _usual
