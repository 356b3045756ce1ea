"""What the Python programs share: the bridge under test, the cache, the results."""

import json, os, shlex, subprocess, sys, time
from pathlib import Path


HERE = Path(__file__).resolve().parent


def bridge_command():
    """The command line to which a server's is appended, from BRIDGE; or the program ends."""
    command = shlex.split(os.environ.get("BRIDGE", ""))
    if not command:
        sys.exit("set BRIDGE to the bridge's command, e.g. BRIDGE='target/release/mcp-uplift --'")
    if os.path.exists(command[0]):  # servers start in folders of their own
        command[0] = os.path.abspath(command[0])
    return command


def cache(name):
    """Where a harness installs things: a folder below EVIDENCE_CACHE, else below ~/.cache."""
    root = os.environ.get("EVIDENCE_CACHE") or os.path.expanduser("~/.cache/mcp-uplift-evidence")
    return Path(root).absolute() / name


def write_results(path, bridge, **results):
    """Writes a report that says of which bridge, at which commit of its source, and when."""
    head = {
        "bridge": output(bridge[0], "--version"),
        "commit": output("git", "-C", str(HERE), "log", "-1", "--format=%h", "--", ":/src"),
        "date": time.strftime("%Y-%m-%d"),
    }
    text = json.dumps(head | results, indent=1, ensure_ascii=False, default=str)
    Path(path).write_text(text + "\n", encoding="utf-8")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=10).stdout.strip()
