#!/usr/bin/env python3
"""Transparent stdio recorder:  tap.py DIR LABEL -- COMMAND [ARG...]

Starts COMMAND, copies stdin to it and its stdout back unchanged, and writes every
line of both directions to DIR/LABEL-<pid>.jsonl:
  {"t": unix seconds, "dir": "in" | "out", "msg": parsed JSON}     ("raw": text when not JSON)
  {"t": ..., "ev": "start" | "stdin-eof" | "signal" | "stdout-eof" | "exit", ...}
"in" is towards COMMAND, "out" is from COMMAND. stderr goes to DIR/LABEL-<pid>.stderr.
Signals are handed on; the exit code is COMMAND's.
"""

import json, os, signal, subprocess, sys, threading, time


def main():
    folder, label = sys.argv[1], sys.argv[2]
    command = sys.argv[4:]
    os.makedirs(folder, exist_ok=True)
    base = os.path.join(folder, f"{label}-{os.getpid()}")
    log, lock = open(base + ".jsonl", "w", encoding="utf-8"), threading.Lock()

    def note(**entry):
        with lock:
            log.write(json.dumps({"t": time.time(), **entry}, ensure_ascii=False) + "\n")
            log.flush()

    def note_line(direction, line):
        if not line.strip():
            return note(dir=direction, raw=line.decode("utf-8", "replace"))
        try:
            note(dir=direction, msg=json.loads(line.decode("utf-8")))
        except ValueError:
            note(dir=direction, raw=line.decode("utf-8", "replace"))

    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(base + ".stderr", "wb")
    )
    note(ev="start", tap=os.getpid(), pid=child.pid, command=command)

    def hand_on(number, _frame):
        note(ev="signal", number=number)
        try:
            child.send_signal(number)
        except ProcessLookupError:
            pass

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, hand_on)

    def pump(source, sink, direction, end_event):
        rest = bytearray()
        while True:
            chunk = os.read(source, 1 << 16)
            if not chunk:
                break
            # Record first, then hand on: the answer must not be recorded before its request.
            rest += chunk
            if b"\n" in chunk:
                *lines, rest = rest.split(b"\n")
                for line in lines:
                    note_line(direction, line)
            try:
                view = memoryview(chunk)
                while view:
                    view = view[os.write(sink, view) :]
            except OSError:
                note(ev="write-failed", side=direction)
                break
        if rest:
            note_line(direction, rest)
        note(ev=end_event)

    def forward_input():
        pump(0, child.stdin.fileno(), "in", "stdin-eof")
        try:
            child.stdin.close()
        except OSError:
            pass

    threading.Thread(target=forward_input, daemon=True).start()
    reader = threading.Thread(
        target=pump, args=(child.stdout.fileno(), 1, "out", "stdout-eof"), daemon=True
    )
    reader.start()
    code = child.wait()
    reader.join(2)
    note(ev="exit", code=code)
    log.flush()
    os._exit(code if code >= 0 else 128 - code)


main()
