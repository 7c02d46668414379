"""Programs that compile for minutes take turns: each stays, with its model in memory, and measures when it is asked.

serve() is the worker's side: it says that it is ready, then answers every line of its input with one measurement, as
JSON. Peer is the other side; several of them start, and compile, at the same time.
"""
import json
import os
import subprocess
import sys
import tempfile


def serve(measure, **about):
    print(json.dumps(about), flush=True)
    for _ in sys.stdin:
        print(json.dumps(measure()), flush=True)


class Peer:
    def __init__(self, command, env):
        self.name, self.about = os.path.basename(command[1]), None  # command[0] is Python
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log, text=True)

    def answer(self):
        for line in self.process.stdout:
            if line.startswith("{"):  # compilers also print lines
                return json.loads(line)
        code = self.process.wait()
        self.log.seek(0)
        lines = self.log.read().strip().splitlines() or ["no message"]
        raise RuntimeError(f"{self.name} exited {code}: {lines[-1][:200]}")

    def wait_ready(self):
        """Returns when the program's model is compiled"""
        if self.about is None:
            self.about = self.answer()

    def measure(self):
        self.wait_ready()
        try:
            print(file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass  # answer() reports why
        return dict(self.about, **self.answer())

    def close(self):
        self.process.kill()
        self.process.wait()
