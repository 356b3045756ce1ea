"""The table of servers, and how its rows are installed. README.md says what the columns are."""

import glob, hashlib, json, os, shutil, subprocess, sys, threading
from harness import cache

CACHE = str(cache("sweep"))
UV = "uv==0.13.9"
UV_LOCK = threading.Lock()  # several rows need it at the same time
# The largest parts of packages that are never read.
NEVER_READ = (".map", ".d.ts", ".d.mts", ".d.cts")


class NotInstalled(Exception):
    """With the last words of the program that was to install something."""


def load(path):
    """The rows as dictionaries; `inst` is where one is installed, `bin` where its programs are."""
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]
    names, rows = lines[0].split("\t"), []
    for line in lines[1:]:
        row = dict(zip(names, line.split("\t")))
        row["args"], row["env"] = json.loads(row["args"]), json.loads(row["env"])
        row["call"] = None if row["call"] == "-" else json.loads(row["call"])
        row["inst"] = os.path.join(CACHE, row["ecosystem"], row["name"])
        folder = "node_modules/.bin" if row["ecosystem"] == "npm" else "bin"
        row["bin"] = os.path.join(row["inst"], folder)
        rows.append(row)
    return rows


def stamp(row):
    return os.path.join(row["inst"], ".installed")


def is_installed(row):
    """Whether it is there, from exactly this row."""
    try:
        with open(stamp(row)) as file:
            return file.read() == row["package"] + " " + row["deps"]
    except FileNotFoundError:
        return False


def install(row):
    """Installs a row, whatever was there before; raises NotInstalled."""
    shutil.rmtree(row["inst"], ignore_errors=True)
    os.makedirs(row["inst"])
    date, *forced = row["deps"].split()
    package, version = row["package"].split("==")
    {"npm": npm, "pypi": pypi, "crates": crates}[row["ecosystem"]](
        row["inst"], package, version, date, forced
    )
    with open(stamp(row), "w") as file:
        file.write(row["package"] + " " + row["deps"])


def npm(folder, package, version, date, forced):
    spec = {
        "private": True,
        "dependencies": {package: version},
        "overrides": dict(name.rsplit("@", 1) for name in forced),
    }
    with open(folder + "/package.json", "w") as file:
        json.dump(spec, file)
    run(
        ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"]
        + ["--omit=dev", "--legacy-peer-deps", "--before=" + date],
        cwd=folder,
        timeout=900,
    )
    share_files(folder)


def pypi(folder, package, version, date, forced):
    pythons = [name[7:] for name in forced if name.startswith("python@")]
    others = [name.replace("@", "==") for name in forced if not name.startswith("python@")]
    places = [os.environ["PATH"], *glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin"))]
    env = dict(os.environ, UV_CACHE_DIR=CACHE + "/uvcache", PATH=os.pathsep.join(places))
    python = pythons[0] if pythons else sys.executable
    run(
        [uv(), "venv", "-q", "--no-python-downloads", "--clear", "--python", python, folder],
        env=env,
        timeout=300,
    )
    run(
        [uv(), "pip", "install", "-q", "--python", folder + "/bin/python", "--exclude-newer", date]
        + [f"{package}=={version}", *others],
        env=env,
        timeout=900,
    )


def crates(folder, package, version, _date, forced):
    command = ["cargo", "install", "-q", "--locked", "--root", folder, f"{package}@{version}"]
    run(command + forced, timeout=1800)


def uv():
    """The installer for Python packages, which can leave out what is newer than a day."""
    home = os.path.join(CACHE, "uv")
    with UV_LOCK:
        if not os.path.exists(home + "/bin/uv"):
            shutil.rmtree(home, ignore_errors=True)
            run([sys.executable, "-m", "venv", home], timeout=300)
            run([home + "/bin/pip", "install", "-q", UV], timeout=300)
    return home + "/bin/uv"


def share_files(root):
    """npm has no store: drops what never runs, and keeps one copy of equal files (hard links)."""
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.islink(path) or os.stat(path).st_nlink > 1:
                continue
            if name.endswith(NEVER_READ) and "/typescript/" not in path:
                os.remove(path)
                continue
            with open(path, "rb") as file:
                digest = hashlib.sha1(file.read()).hexdigest()
            digest += "x" if os.access(path, os.X_OK) else ""
            kept = os.path.join(CACHE, "store", digest[:2], digest[2:])
            os.makedirs(os.path.dirname(kept), exist_ok=True)
            try:
                if os.path.exists(kept):
                    os.link(kept, path + ".lnk")
                    os.replace(path + ".lnk", path)
                else:
                    os.link(path, kept)
            except OSError:
                pass  # a file system without hard links, or with too many of one file


def run(command, **options):
    try:
        subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
            **options,
        )
    except subprocess.CalledProcessError as error:
        last = " ".join(error.stdout.strip().splitlines()[-3:])
        raise NotInstalled(f"{command[0]}: {last[-250:]}")
    except subprocess.TimeoutExpired as error:
        raise NotInstalled(f"{command[0]}: not done after {error.timeout:.0f} s")
    except FileNotFoundError:
        raise NotInstalled(f"{command[0]} is missing")
