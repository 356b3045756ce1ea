#!/usr/bin/env python3
"""Makes what is handed out, in the folder that is named: run it by `make dist`.

    mcp-uplift-VERSION-source.tar.gz      what is tracked, and every crate; builds without a network
    mcp-uplift-VERSION-ARCH-OS.tar.gz     the static program, built from the above, and its documents
    mcp-uplift-VERSION.cdx.json           what is in it: CycloneDX 1.5
    SHA256SUMS                            of the three

The same commit, compiler, C library and gzip give the same bytes, wherever it is built. The time in
the archives is SOURCE_DATE_EPOCH; or that of the commit; or, in an unpacked source archive, that of
its newest file, which is the same again. Environment: CARGO. Needs cargo, make, gzip, and git in a
clone.
"""
import hashlib, io, json, os, re, shutil, subprocess, sys, tarfile, uuid
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
NAME = "mcp-uplift"
CARGO = os.environ.get("CARGO") or "cargo"
# In the binary archive: what its people read, and what those documents link to.
DOCUMENTS = [
    "LICENSE", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
    "docs", "share", "bench/README.md", "evidence/README.md", "evidence/sweep/servers.tsv",
    "tests/cases/README.md",
]
INSTALL = """\
mcp-uplift here is built: a static program for {system} on {arch}. To install it, copy it to a folder
that programs are looked for in, and what you want of share/ to where yours are, for example:

    install -D mcp-uplift ~/.local/bin/mcp-uplift
    install -D -m 644 share/man/mcp-uplift.1 ~/.local/share/man/man1/mcp-uplift.1

README.md begins with how it is built from source: go on at "Wrap your server". What it says of
make, cargo and target/ needs the source archive of the same version.
"""
# What .gitignore names: not part of the source where there is no git to ask.
NOT_SOURCE = ["target", "vendor", ".cargo", "dist"]

# Whatever would make this build differ from that of others. make's own variables would hand the
# options of the outer make to the inner one.
PRIVATE = re.compile(
    r"(CARGO_ENCODED_)?RUSTFLAGS|CARGO_(BUILD|PROFILE|TARGET)_.*|CARGO_INCREMENTAL|GZIP"
    r"|MAKE(FLAGS|LEVEL|OVERRIDES)|MFLAGS|GNUMAKEFLAGS|LC_.*|LANG")
ENV = {key: value for key, value in os.environ.items() if not PRIVATE.fullmatch(key)}
ENV["LC_ALL"] = "C"


def fail(message):
    sys.exit(f"make dist: {message}")


def run(*command, cwd=ROOT, **env):
    subprocess.run(command, cwd=cwd, env=ENV | env, check=True, stdout=sys.stderr)


def output(*command, cwd=ROOT):
    return subprocess.run(command, cwd=cwd, env=ENV, check=True, stdout=subprocess.PIPE).stdout


def copy_tree(source, target, skip=()):
    """Copies a folder but for these entries of it."""
    target.mkdir(parents=True)
    for entry in source.iterdir():
        if entry in skip:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.copytree(entry, target / entry.name, symlinks=True)
        else:
            shutil.copy2(entry, target / entry.name, follow_symlinks=False)


def files_in(folder):
    """All files, sorted by name: the order of a folder is an accident."""
    return sorted(path for path in folder.rglob("*") if path.is_symlink() or path.is_file())


def stage(source, work, out):
    """Puts the tree of the source archive there, and says what time it is from."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if (ROOT / ".git").exists():
        # A release of changes that are nowhere recorded could not be made again.
        if output("git", "status", "--porcelain", "--untracked-files=no"):
            fail("there are changes that are not committed: commit or stash them")
        epoch = epoch or output("git", "log", "-1", "--format=%ct")
        with tarfile.open(fileobj=io.BytesIO(output("git", "archive", "--format=tar", "HEAD"))) as tar:
            # Newer Pythons warn when they are not told what to make of odd entries.
            tar.extraction_filter = getattr(tarfile, "data_filter", None)
            tar.extractall(source)
    else:
        skip = [ROOT / name for name in NOT_SOURCE] + [work, out]
        copy_tree(ROOT, source, skip)
        epoch = epoch or max(path.lstat().st_mtime for path in files_in(source))
    if (ROOT / "vendor").is_dir():
        shutil.copytree(ROOT / "vendor", source / "vendor", symlinks=True)
    else:
        # With the version in the name, so that the binary names crates as one from the registry does.
        run(CARGO, "vendor", "--quiet", "--locked", "--versioned-dirs", "--respect-source-config",
            "vendor", cwd=source)
    # Not what cargo prints: that may name a mirror that is used here.
    (source / ".cargo").mkdir()
    shutil.copy(source / "packaging/vendored.toml", source / ".cargo/config.toml")
    return int(epoch)


def pack(archive, folder, epoch):
    """Packs a folder under its own name. Owner, time and mode are nobody's: umask does not show."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as packed:
        for path in files_in(folder):
            info = packed.gettarinfo(path, arcname=str(path.relative_to(folder.parent)))
            # Files that are one by a hard link would come out as links, or not, as they were copied.
            if path.is_file() and not path.is_symlink():
                info.type, info.linkname, info.size = tarfile.REGTYPE, "", path.stat().st_size
            info.mtime, info.uid, info.gid, info.uname, info.gname = epoch, 0, 0, "", ""
            info.mode = 0o755 if info.mode & 0o100 else 0o644
            with open(path, "rb") if info.isreg() else io.BytesIO() as content:
                packed.addfile(info, content)
    # gzip and not Python's zlib, of which there are several that pack differently.
    packed = subprocess.run(["gzip", "-9n"], input=tar.getvalue(), env=ENV, check=True,
                            stdout=subprocess.PIPE).stdout
    archive.write_bytes(packed)


def crates_of(source, host):
    """The package, all crates of Cargo.lock by id, what each needs, and which are linked."""
    meta = json.loads(output(CARGO, "metadata", "--format-version=1", "--locked", "--offline",
                             cwd=source))
    here = json.loads(output(CARGO, "metadata", "--format-version=1", "--locked", "--offline",
                             "--filter-platform", host, cwd=source))
    root = meta["resolve"]["root"]
    crates = {package["id"]: package for package in meta["packages"]}
    needs = {node["id"]: sorted(node["dependencies"]) for node in meta["resolve"]["nodes"]}
    nodes = {node["id"]: node for node in here["resolve"]["nodes"]}
    linked, waiting = set(), [root]
    while waiting:
        for dep in nodes[waiting.pop()]["deps"]:
            # No kind is a normal dependency; the others help to build or to test.
            if any(kind["kind"] is None for kind in dep["dep_kinds"]) and dep["pkg"] not in linked:
                linked.add(dep["pkg"])
                waiting.append(dep["pkg"])
    return crates.pop(root), crates, needs, linked


def in_order(crates):
    return sorted(crates, key=lambda crate: (crate["name"], crate["version"]))


def c_library(host):
    """Name, version, license and note of the C library that a static program contains."""
    if host.endswith("musl"):
        return "musl", None, "MIT", (
            "musl, copyright Rich Felker and others, under the MIT license (the text is above).")
    version = os.confstr("CS_GNU_LIBC_VERSION").split()[-1]
    return "glibc", version, "LGPL-2.1-or-later", (
        f"The GNU C Library, version {version}, copyright the Free Software Foundation, Inc. and others,\n"
        "is used in this program and is covered by the GNU Lesser General Public License, version 2.1 or\n"
        "later; LGPL-2.1.txt is its text. Parts of it are under permissive licenses that its file LICENSES\n"
        f"holds. The source archive {NAME}-VERSION-source.tar.gz of the same version has all that is\n"
        "needed to link this program again, with a changed C library too: change that, then run `make`.\n\n"
        "The start of the program and the unwinder come from GCC (libgcc), under GPL-3.0-or-later WITH\n"
        "GCC-exception-3.1, which asks nothing of a program that contains them.")


def third_party(crates, rust, libc_note, version):
    """The notices that must go along with the binary."""
    note = (ROOT / "packaging/linked.md").read_text()
    parts = [note.format(rust=rust, libc=libc_note.replace("VERSION", version))]
    for crate in in_order(crates):
        folder = Path(crate["manifest_path"]).parent
        texts = [path for path in sorted(folder.iterdir())
                 if re.match(r"(un)?licen[cs]e|copying|copyright|notice", path.name, re.I)]
        if any("mit" in path.name.lower() for path in texts):
            texts = [path for path in texts if "apache" not in path.name.lower()]
        if not texts or not crate["license"]:
            fail(f"{crate['name']} {crate['version']} comes without a license: look at it")
        parts.append(f"## {crate['name']} {crate['version']}\n\n{crate['license']}\n")
        for path in texts:
            quoted = "\n".join(f"> {line}".rstrip() for line in path.read_text().strip().splitlines())
            parts.append(f"From {path.name}:\n\n{quoted}\n")
    return "\n".join(parts)


def bill(source, package, crates, needs, linked, binary, rust, libc, epoch):
    """The bill of materials, CycloneDX 1.5."""
    lock = (source / "Cargo.lock").read_text()
    sums = {}
    for block in lock.split("[[package]]")[1:]:
        field = dict(re.findall(r'^(\w+) = "(.*)"$', block, re.M))
        sums[field["name"], field["version"]] = field.get("checksum")

    def purl(crate):
        return f"pkg:cargo/{crate['name']}@{quote(crate['version'])}"

    def component(crate):
        found = {
            "type": "library",
            "bom-ref": purl(crate),
            "name": crate["name"],
            "version": crate["version"],
            # Excluded is what only tests, or other systems, need.
            "scope": "required" if crate["id"] in linked else "excluded",
            "hashes": [{"alg": "SHA-256", "content": sums[crate["name"], crate["version"]]}],
            "purl": purl(crate),
        }
        if crate["license"]:
            # Before SPDX expressions a choice was written with a slash.
            found["licenses"] = [{"expression": re.sub(r"\s*/\s*", " OR ", crate["license"])}]
        return found

    def beneath(name, version, license):
        found = {"type": "library", "bom-ref": name, "name": name, "scope": "required",
                 "licenses": [{"expression": license}]}
        if version:
            found |= {"version": version, "purl": f"pkg:generic/{name}@{version}"}
        return found

    own = purl(package)
    std = beneath("rust-std", rust, "MIT OR Apache-2.0")
    every = {package["id"]: package} | crates
    content = hashlib.sha256(binary).hexdigest()
    tree = [{"ref": purl(crate), "dependsOn": [purl(every[need]) for need in needs[crate["id"]]]}
            for crate in in_order(every.values())]
    for node in tree:
        if node["ref"] == own:
            node["dependsOn"].append(std["bom-ref"])
    tree += [{"ref": std["bom-ref"], "dependsOn": [libc[0]]}, {"ref": libc[0], "dependsOn": []}]
    return json.dumps({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        # A number of its own for each binary, and the same for the same one.
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_OID, content).urn,
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": package["name"],
                "version": package["version"],
                "description": package["description"],
                "hashes": [{"alg": "SHA-256", "content": content}],
                "licenses": [{"license": {"id": package["license"]}}],
                "purl": own,
            },
        },
        "components": [component(crate) for crate in in_order(crates.values())]
        + [std, beneath(*libc[:3])],
        "dependencies": tree,
    }, indent=2) + "\n"


def must_not_tell(name, content, work):
    """Stops if a path of this machine is in there."""
    home = os.path.expanduser("~")
    for place in [str(ROOT), str(work), home, ENV.get("CARGO_HOME", f"{home}/.cargo")]:
        for path in {place, os.path.realpath(place)}:
            # Where the home directory is /tmp, say, the name is everybody's.
            if path != "/root" and path.count("/") < 2:
                continue
            if re.search(rb"(?<![\w.-])" + re.escape(path.encode()) + rb"(?![\w.-])", content):
                fail(f"{name} tells where it was built: {path}")


def must_lead_somewhere(tree):
    """Stops if a document links to what is not in the archive."""
    for page in tree.rglob("*.md"):
        for link in re.findall(r"\]\(([^)\s#]+)", page.read_text()):
            if "://" not in link and not (page.parent / link).exists():
                fail(f"{page.relative_to(tree)} links to {link}, which is not in the archive")


def main():
    out = Path(sys.argv[1]).absolute()
    work = out.parent / "dist-build"
    for folder in (out, work):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    version = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]
    rustc = output(os.environ.get("RUSTC") or "rustc", "-vV").decode()
    host = re.search(r"^host: (.*)", rustc, re.M)[1]
    rust = re.search(r"^release: (.*)", rustc, re.M)[1]
    arch, system = host.split("-")[0], host.split("-")[2]

    source = work / f"{NAME}-{version}"
    epoch = stage(source, work, out)
    pack(out / f"{NAME}-{version}-source.tar.gz", source, epoch)

    # Built from what was just packed, without a network: the archive is known to be complete.
    run("make", "--no-print-directory", "release", f"CARGO={CARGO}", cwd=source,
        CARGO_TARGET_DIR=str(work / "target"), CARGO_NET_OFFLINE="true")
    binary = (work / "target/release" / NAME).read_bytes()
    package, crates, needs, linked = crates_of(source, host)
    libc = c_library(host)
    notices = third_party([crates[id] for id in linked], rust, libc[3], version)
    sbom = bill(source, package, crates, needs, linked, binary, rust, libc, epoch)
    must_not_tell(NAME, binary, work)
    must_not_tell("THIRD-PARTY.md", notices.encode(), work)
    must_not_tell("the bill of materials", sbom.encode(), work)

    tree = work / f"{NAME}-{version}-{arch}-{system}"
    tree.mkdir()
    shutil.copy(work / "target/release" / NAME, tree)
    (tree / "INSTALL").write_text(INSTALL.format(system=system, arch=arch))
    for document in DOCUMENTS:
        (tree / document).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (source / document).is_dir() else shutil.copy
        copy(source / document, tree / document)
    must_lead_somewhere(tree)
    (tree / "THIRD-PARTY.md").write_text(notices)
    if libc[0] == "glibc":
        shutil.copy(source / "packaging/LGPL-2.1.txt", tree)
    pack(out / f"{tree.name}.tar.gz", tree, epoch)
    (out / f"{NAME}-{version}.cdx.json").write_text(sbom)

    names = sorted(path.name for path in out.iterdir())
    sums = [f"{hashlib.sha256((out / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (out / "SHA256SUMS").write_text("".join(sums))
    shutil.rmtree(work)
    print("".join(sums), end="")


try:
    main()
except subprocess.CalledProcessError as error:
    fail(f"{error.cmd[0]} failed with status {error.returncode}")
