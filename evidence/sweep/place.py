"""Where a server works, and what it started: a fresh folder for each session, marked processes."""

import glob, json, os, shutil, sqlite3, subprocess
from pathlib import Path

SMALL_SERVER = """\
from %s import FastMCP
mcp = FastMCP('small')


@mcp.tool()
def add(a: int, b: int) -> int:
    'Add two numbers'
    return a + b


@mcp.resource('note://x')
def note() -> str:
    return 'text'


@mcp.prompt()
def ask(topic: str) -> str:
    return 'About ' + topic
"""

KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
users: [{name: u, user: {}}]
"""

OPENAPI = {
    "openapi": "3.0.0",
    "info": {"title": "Pets", "version": "1"},
    "servers": [{"url": "http://127.0.0.1:9"}],
    "paths": {
        "/pets": {
            "get": {
                "operationId": "listPets",
                "summary": "List pets",
                "responses": {"200": {"description": "ok"}},
            }
        }
    },
}

PACKAGE = '{"name":"sample","version":"1.0.0","dependencies":{"left-pad":"1.3.0"}}\n'
LANGUAGE_SERVERS = '{"servers":[{"extensions":["py"],"command":["pylsp"],"rootDir":"."}]}\n'

FILES = {
    "files/a.txt": "alpha\nbeta\n",
    "files/b.md": "# Title\n\nSome *text* with caf\u00e9 and \U0001f600.\n",
    "files/sub/data.csv": "id,name\n1,one\n2,two\n",
    "files/package.json": PACKAGE,
    "files/fm.py": SMALL_SERVER % "fastmcp",
    "files/fm1.py": SMALL_SERVER % "mcp.server.fastmcp",
    "files/Makefile": "hello:\n\t@echo hello\n",
    "files/kubeconfig": KUBECONFIG,
    "files/cclsp.json": LANGUAGE_SERVERS,
    "files/openapi.json": json.dumps(OPENAPI),
    "repo/README.md": "hello\n",
}


def make(folder):
    """The same few files, a database and a git repository, whatever was there before."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in FILES.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    Path(folder, "home").mkdir()
    database = sqlite3.connect(os.path.join(folder, "files/test.db"))
    database.executescript(
        "create table t(id integer primary key, name text);"
        "insert into t(name) values('one'),('two');"
    )
    database.commit()
    database.close()
    env = {
        "PATH": os.environ["PATH"],
        "HOME": folder + "/home",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_AUTHOR_DATE": "2025-01-01T00:00:00Z",
        "GIT_COMMITTER_DATE": "2025-01-01T00:00:00Z",
    }
    who = ["-c", "user.name=S", "-c", "user.email=s@example.com"]
    for words in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        [*who, "commit", "-q", "-m", "first"],
    ):
        subprocess.run(
            ["git", *words],
            cwd=folder + "/repo",
            env=env,
            check=True,
            stdout=subprocess.DEVNULL,
        )


def marked(mark):
    """The living processes that carry this mark in their environment."""
    found, wanted = [], ("SWEEP_MARK=" + mark).encode()
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                is_ours = wanted in file.read()
        except OSError:
            continue
        pid = int(path.split("/")[2])
        if is_ours and state(pid) not in ("Z", None):
            found.append(pid)
    return found


def state(pid):
    return _stat(pid, 0)


def parent(pid):
    return int(_stat(pid, 1) or 0)


def session(pid):
    return int(_stat(pid, 3) or 0)


def _stat(pid, field):
    """A field of /proc/PID/stat, counted from the one after the name; None if it has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[field]
    except (OSError, IndexError):
        return None


def name(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return "?"
