"""The judges: each makes None of a `Pair` (see pair.py), for pass, or a text of what is wrong.

It raises Skip when the client cannot show the behaviour.
"""

import json

P = "io.modelcontextprotocol/"
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


class Skip(Exception):
    """With the reason."""


# ---- comparing


def stripped(result):
    """A modern result without the documented additions; tool pages in name order."""
    if not isinstance(result, dict):
        return result
    out = {k: v for k, v in result.items() if k not in ("resultType", "ttlMs", "cacheScope")}
    if isinstance(out.get("_meta"), dict):
        out["_meta"] = {k: v for k, v in out["_meta"].items() if k != P + "serverInfo"}
        if not out["_meta"]:
            del out["_meta"]
    return out


def by_name(result):
    if isinstance(result, dict) and isinstance(result.get("tools"), list):
        return {**result, "tools": sorted(result["tools"], key=lambda t: str(t.get("name")))}
    return result


def shown_tools(want, got):
    """Servers show fewer tools to a client that can do less: expect only those that are there."""
    if isinstance(want, dict) and isinstance(want.get("tools"), list) and isinstance(got, dict):
        names = {t.get("name") for t in got.get("tools", [])}
        return {**want, "tools": [t for t in want["tools"] if t["name"] in names]}
    return want


def expected_error(error, modern):
    """What a legacy error has to look like downstream."""
    code = error.get("code")
    if not modern:
        return error
    absent = ("Unknown resource", "Unknown prompt")
    if code == -32002 or (code == 0 and str(error.get("message")).startswith(absent)):
        return {**error, "code": -32602}
    if isinstance(code, int) and -32099 <= code <= -32020:
        return {"code": -32603, "upstreamCode": code}
    return error


def difference(got, want, path=""):
    """The first place where two JSON values differ, as text, or None."""
    if type(got) is not type(want) and not (is_number(got) and is_number(want)):
        return f"{path or '(root)'}: {short(got)} instead of {short(want)}"
    if isinstance(want, dict):
        for key in want:
            if key not in got:
                return f"{path}/{key} is missing"
            found = difference(got[key], want[key], f"{path}/{key}")
            if found:
                return found
        extra = [k for k in got if k not in want]
        return f"{path}/{extra[0]} was added" if extra else None
    if isinstance(want, list):
        if len(got) != len(want):
            return f"{path}: {len(got)} items instead of {len(want)}"
        for i, (g, w) in enumerate(zip(got, want)):
            found = difference(g, w, f"{path}/{i}")
            if found:
                return found
        return None
    return None if got == want else f"{path or '(root)'}: {short(got)} instead of {short(want)}"


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def short(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 90 else text[:87] + "..."


def texts(value):
    """All texts a result shows to a user, in order."""
    if isinstance(value, dict):
        return [
            t
            for k, v in value.items()
            for t in (
                [v] if k in ("text", "data", "blob", "uri") and isinstance(v, str) else texts(v)
            )
        ]
    if isinstance(value, list):
        return [t for v in value for t in texts(v)]
    return []


def observation(run, step):
    seen = run.obs(step)
    if seen is None:
        return None, "the client never got to this step"
    if "skip" in seen:
        raise Skip(seen["skip"])
    return seen, None


# ---- judges


def same(step, method):
    """The client was content and the answer on the wire equals the direct one."""

    def judge(run):
        seen, problem = observation(run, step)
        if problem:
            return problem
        base = run.base(step)
        got, want = run.wire(step, method), run.base_wire(step, method)
        if not run.exact_values and got:  # command lines may stop after the first page
            want = want[: len(got)]
        if len(got) != len(want):
            outcome = "; client: " + seen["error"]["message"][:150] if "error" in seen else ""
            return f"{len(got)} answers to {method} instead of {len(want)}{outcome}"
        for g, w in zip(got, want):
            if "error" in w:
                if "error" not in g:
                    return f"result {short(g['result'])} instead of error {short(w['error'])}"
                error = expected_error(w["error"], run.modern)
                if "upstreamCode" in error:
                    code = (g["error"].get("data") or {}).get("upstreamCode")
                    if g["error"].get("code") != -32603 or code != error["upstreamCode"]:
                        wanted = f"-32603 with data.upstreamCode {error['upstreamCode']}"
                        return f"error {short(g['error'])} instead of {wanted}"
                    continue
                found = difference(g["error"], error)
            elif "error" in g:
                return f"error {short(g['error'])} instead of a result"
            elif run.modern:
                found = difference(by_name(stripped(g["result"])), by_name(w["result"]))
            else:
                found = difference(
                    g["result"],
                    w["result"] if run.exact_values else shown_tools(w["result"], g["result"]),
                )
            if found:
                return found
        failed_tool = not run.exact_values and any(
            isinstance(w.get("result"), dict) and w["result"].get("isError") for w in want
        )
        # Command lines report isError through their exit code.
        if "error" in seen and "error" not in base and not failed_tool:
            return f"client: {seen['error'].get('message', '')[:200]}"
        if "error" in base and "error" not in seen:
            return f"client reports success: {short(seen.get('value'))}"
        if run.exact_values and "value" in base:
            shown, wanted = texts(seen.get("value")), texts(base.get("value"))
            if sorted(shown) != sorted(wanted):
                return f"client shows {short(shown)} instead of {short(wanted)}"
        return None

    return judge


def asks(step, method="tools/call"):
    """Like same, and the user was asked what the server asked."""
    plain = same(step, method)

    def judge(run):
        seen, problem = observation(run, step)
        if problem:
            return problem
        want = run.base_questions(step)
        found = difference(run.questions(step), want)
        if found:
            return "question " + found
        kinds = [
            {
                "elicitation/create": "elicit",
                "sampling/createMessage": "sample",
                "roots/list": "roots",
            }[q["method"]]
            for q in want
        ]
        called = [e["kind"] for e in seen["events"] if e["kind"] in ("elicit", "sample", "roots")]
        if sorted(called) != sorted(kinds):
            return f"handlers called: {called} instead of {kinds}"
        return plain(run)

    return judge


def connect(run):
    seen = run.obs("connect")
    if seen is None or "error" in seen:
        return "connect: " + ((seen or {}).get("error") or {}).get("message", "no report")[:200]


def negotiated(run):
    want = "2026-07-28" if run.modern else run.base_initialize().get("protocolVersion")
    got = run.negotiated_version()
    if got != want:
        return f"negotiated {got} instead of {want}"
    seen = run.obs("identity")
    reported = ((seen or {}).get("value") or {}).get("protocolVersion")
    if reported is not None and reported != want:
        return f"client reports {reported}"


def hello_field(field):
    def judge(run):
        hello = run.hello()
        base = run.base_initialize()
        if hello is None:
            raise Skip("the client neither discovers nor initializes")
        if not run.modern:
            return difference(hello.get(field), base.get(field))
        if field == "serverInfo":
            return difference((hello.get("_meta") or {}).get(P + "serverInfo"), base["serverInfo"])
        if field == "capabilities":
            return difference(
                hello.get("capabilities"),
                {k: v for k, v in base["capabilities"].items() if k != "tasks"},
            )
        return difference(hello.get(field), base.get(field))

    return judge


def stamped(run):
    """Every modern result names the wrapped server."""
    if not run.modern:
        raise Skip("only for clients of 2026-07-28")
    info, bad = run.base_initialize()["serverInfo"], 0
    results = run.all_results()
    for result in results:
        got = (result.get("_meta") or {}).get(P + "serverInfo") or {}
        bad += (got.get("name"), got.get("version")) != (info["name"], info["version"])
    return f"{bad} of {len(results)} results lack the server's name and version" if bad else None


def progress(step):
    """All reports came under the request's own token, and the client saw them.

    It may lose one that touches the result.
    """

    def judge(run):
        seen, problem = observation(run, step)
        if problem:
            return problem
        keys = ("progress", "total", "message")
        pick = lambda params: [params.get(k) for k in keys]
        method = "notifications/progress"
        want = [pick(n["params"]) for n in run.base_pair.notifications(step, method)]
        sent = run.notifications(step, method)
        tokens = [
            (m["params"].get("_meta") or {}).get("progressToken")
            for m, _a in run.legs(step, "tools/call")
        ]
        used = [n["params"].get("progressToken") for n in sent]
        if any(token not in tokens for token in used):
            return f"tokens {used} for request token {tokens}"
        found = difference([pick(n["params"]) for n in sent], want)
        if found:
            return found
        got = [pick(e["params"]) for e in seen["events"] if e["kind"] == "progress"]
        return None if got in (want, want[:-1]) else f"the client saw {short(got)}"

    return judge


def logs(step):
    """A modern client gets what its logLevel asks for, a legacy one what the direct one got."""

    def judge(run):
        seen, problem = observation(run, step)
        if problem:
            return problem
        pick = lambda params: [params["level"], params.get("data")]
        method = "notifications/message"
        want = [pick(n["params"]) for n in run.base_pair.notifications(step, method)]
        if run.modern:
            metas = [m["params"].get("_meta") or {} for m, _a in run.legs(step, "tools/call")]
            level = metas[0].get(P + "logLevel") if metas else None
            if level is None and run.step(step).get("logLevel"):
                return "the client sent no logLevel"
            want = [w for w in want if level and LEVELS.index(w[0]) >= LEVELS.index(level)]
        sent = [pick(n["params"]) for n in run.notifications(step, method)]
        got = [pick(e["params"]) for e in seen["events"] if e["kind"] == "log"]
        return difference(sent, want) or difference(sorted(got, key=str), sorted(want, key=str))

    return judge


def after_change(step):
    def judge(run):
        # A client that could not listen did not change the tools either.
        observation(run, "listen.tools")
        return same(step, "tools/list")(run)

    return judge


def listens(step, methods):
    """What was asked for is honoured and arrives, no more, and nothing after the end."""

    def judge(run):
        seen, problem = observation(run, step)
        if problem:
            return problem
        if "error" in seen:
            return seen["error"]["message"][:200]
        value, base = seen["value"], run.base(step)["value"]
        names = lambda events: sorted(e["method"] for e in events)
        if not run.modern:
            return difference(names(value["delivered"]), names(base["delivered"])) or difference(
                sorted(value["late"]), sorted(base["late"])
            )
        wanted = run.step(step)["filter"]
        found = difference(value["honored"], wanted)
        if found:
            return "honoured " + found
        uris = [e["params"]["uri"] for e in value["delivered"] if e["method"].endswith("updated")]
        if uris != wanted.get("resourceSubscriptions", []):
            return f"updates for {uris}"
        return difference(names(value["delivered"]), sorted(methods)) or (
            f"events after the end: {value['late']}" if value["late"] else None
        )

    return judge


def cancels(step, after, word):
    """The server saw the cancellation, the lane was free again at once, nothing was answered."""

    def judge(run):
        seen, problem = observation(run, step)
        if problem:
            return problem
        if "error" not in seen:
            return "the call was not cancelled"
        if run.wire(step, "tools/call") and (run.modern or not run.base_wire(step, "tools/call")):
            return "the cancelled call was answered"
        history = run.obs(after)
        if "error" in history:
            return f"next call: {history['error']['message'][:150]}"
        told = " ".join(texts(history["value"]))
        if word not in told:
            return f"the server never heard of it: {told}"
        if history["t1"] - history["t0"] > 1.5:
            return f"the next call waited {history['t1'] - history['t0']:.1f} s"

    return judge


def concurrent(step, count):
    def judge(run):
        seen, problem = observation(run, step)
        if problem:
            return problem
        if "error" in seen:
            return seen["error"]["message"][:200]
        got = [texts(v)[:1] for v in seen["value"]]
        return difference(got, [[f"n={n}"] for n in range(count)]) or difference(
            len(run.wire(step, "tools/call")), count
        )

    return judge


def url_required(step, accepted):
    def judge(run):
        seen, problem = observation(run, step)
        if problem:
            return problem
        if not run.modern:
            return same(step, "tools/call")(run)
        if "error" in seen:
            return f"error {seen['error'].get('code')}: {seen['error']['message'][:120]}"
        asked = [e for e in seen["events"] if e["kind"] == "elicit"]
        if len(asked) != 1:
            return f"the user was asked {len(asked)} times"
        questions = run.questions(step)
        want = {
            "method": "elicitation/create",
            "params": {
                "mode": "url",
                "url": "https://example.test/consent",
                "message": "Authorise",
            },
        }
        found = difference(questions, [want])
        if found:
            return "question " + found
        final = run.wire(step, "tools/call")[-1].get("result", {})
        if accepted:
            return None if "authorised" in texts(final) else f"result {short(final)}"
        return None if final.get("isError") is True else f"declined, but result {short(final)}"

    return judge


def order(step):
    """Tools of one page come sorted by name (modern only)."""

    def judge(run):
        if not run.modern:
            raise Skip("only for clients of 2026-07-28")
        for answer in run.wire(step, "tools/list"):
            names = [t["name"] for t in answer.get("result", {}).get("tools", [])]
            if names != sorted(names):
                return f"order {names[:4]}..."

    return judge


def concurrent_raw(run):
    seen, problem = observation(run, "concurrent")
    if problem or "error" in seen:
        return problem or seen["error"]["message"][:200]
    return difference([texts(v) for v in seen["value"]], [["Z"]] * 10)
