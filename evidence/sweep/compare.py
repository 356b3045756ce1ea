"""What a direct session lets expect of the bridge, and the places where it differs."""

import decimal, json
from session import P

ARRAYS = ("tools", "prompts", "resources", "resourceTemplates", "content", "contents")
NULLABLE = ("_meta", "isError", "description", "nextCursor")


def compare(directs, modern):
    """Tells `modern` where its outcomes differ; what differs between direct runs is not counted."""
    for what in directs[0].seen:
        if what not in modern.seen and modern.faults:
            continue  # the conversation broke off earlier, and that is told already
        wanted = [[expected(what, outcome) for outcome in d.seen.get(what, [])] for d in directs]
        got = [observed(what, outcome) for outcome in modern.seen.get(what, [])]
        if len({len(pages) for pages in wanted}) > 1:
            continue  # not even the number of pages stays the same
        volatile = {path for other in wanted[1:] for path in differences(wanted[0], other)}
        if len(got) != len(wanted[0]):
            modern.fail(f"{what}: {len(got)} pages, expected {len(wanted[0])}")
            continue
        for page, pair in enumerate(zip(wanted[0], got)):
            compare_page(what, page, pair, volatile, modern)
    for page in modern.seen.get("tools/list", []):
        look_at_tools((page.get("result") or {}).get("tools") or [], modern)


def compare_page(what, page, pair, volatile, modern):
    def is_volatile(*path):
        return any(path[: len(known)] == known for known in volatile)

    wanted, got = pair
    if list(wanted) != list(got):
        if not is_volatile(page, "result") and not is_volatile(page, "error"):
            modern.fail(f"{what}: {brief(got)}, expected {brief(wanted)}")
        return
    if "error" in wanted and "message" not in wanted["error"]:  # only the code is laid down
        got = {"error": {"code": got["error"].get("code")}}
    for path in differences(wanted, got):
        if not is_volatile(page, *path):
            place = ".".join(map(str, (page, *path)))
            modern.fail(f"{what} differs at {place[:100]}")
            break
    if not volatile and not same_order(wanted, got):
        modern.deviate(f"{what}: the order of members changed")


def look_at_tools(tools, modern):
    names = [tool.get("name") for tool in tools if isinstance(tool, dict)]
    if all(isinstance(name, str) for name in names) and names != sorted(names):
        modern.deviate("tools are not sorted by name (code points)")
    if any(repaired(tool) != tool for tool in tools):
        modern.deviate("inputSchema without type:object was not repaired")


# ---- what is expected


def expected(what, outcome):
    """What the rules of translation make of a direct outcome."""
    if "timeout" in outcome:
        return outcome
    if "error" in outcome:
        return {"error": expected_error(outcome["error"])}
    if not isinstance(outcome["result"], dict):
        return {"error": {"code": -32603}}
    result = comparable(what, outcome["result"])
    if what in ("call", "unknown tool") and result.get("content") is None:
        result["content"] = []
    return {"result": result}


def expected_error(error):
    error = error if isinstance(error, dict) else {}
    code, text = error.get("code"), error.get("message")
    if type(code) is not int or not isinstance(text, str) or -32099 <= code <= -32020:
        return {"code": -32603}
    is_absent = code == 0 and text.startswith(("Unknown resource", "Unknown prompt"))
    return error_members(error | {"code": -32602 if code == -32002 or is_absent else code})


def observed(what, outcome):
    if "error" in outcome:
        return {"error": error_members(outcome["error"])}
    return {"result": comparable(what, outcome["result"])} if "result" in outcome else outcome


def comparable(what, result):
    """A result without what the bridge may add or must remove; tools repaired and sorted."""
    result = without_nulls(without_additions(result))
    if what == "tools/list" and isinstance(result.get("tools"), list):
        result["tools"] = by_name([repaired(tool) for tool in result["tools"]])
    return result


def without_additions(result):
    result = {k: v for k, v in result.items() if k not in ("resultType", "ttlMs", "cacheScope")}
    if isinstance(result.get("_meta"), dict):
        result["_meta"] = {k: v for k, v in result["_meta"].items() if not k.startswith(P)}
    if not result.get("_meta"):
        result.pop("_meta", None)
    return result


def without_nulls(result):
    """Without null members of the result and of list entries (D10), never of deeper levels."""
    result = {k: v for k, v in result.items() if not (v is None and k in NULLABLE)}
    for key in ARRAYS:
        if isinstance(result.get(key), list):
            result[key] = [without_null_members(e) for e in result[key] if e is not None]
    for prompt in result.get("prompts") or []:
        if isinstance(prompt, dict) and isinstance(prompt.get("arguments"), list):
            prompt["arguments"] = [without_null_members(a) for a in prompt["arguments"]]
    return result


def without_null_members(value):
    if not isinstance(value, dict):
        return value
    return {k: v for k, v in value.items() if v is not None}


def repaired(tool):
    """A tool without null members, its inputSchema of type object (D10)."""
    if not isinstance(tool, dict):
        return tool
    schema = tool.get("inputSchema")
    schema = schema if isinstance(schema, dict) else {}
    schema = {
        k: v for k, v in schema.items() if v is not None or k not in ("required", "properties")
    }
    return without_null_members(tool) | {"inputSchema": schema | {"type": "object"}}


def by_name(tools):
    named = [t for t in tools if isinstance(t, dict) and isinstance(t.get("name"), str)]
    return sorted(named, key=lambda t: t["name"]) + [t for t in tools if t not in named]


def error_members(error):
    return {k: error[k] for k in ("code", "message", "data") if k in error}


def expected_capabilities(direct):
    """What discover shows of the server's capabilities (C)."""
    declared = direct.init.get("capabilities")
    if not declared:
        return {"tools": {}} if "tools" in direct.capabilities else {}
    shown = {}
    for name, value in declared.items():
        if name == "tasks" or value is None:
            continue
        if isinstance(value, dict):
            value = {k: v for k, v in value.items() if is_shown(name, k, v)}
        shown[name] = value
    is_first = direct.init.get("protocolVersion") == "2024-11-05"
    if is_first and ("prompts" in shown or "resources" in shown):
        shown.setdefault("completions", {})  # that revision had no capability for it
    return shown


def is_shown(name, key, value):
    """Whether a member of that capability is taken over."""
    if name in ("tools", "prompts", "resources"):
        return key not in ("listChanged", "subscribe") or isinstance(value, bool)
    if name == "experimental":
        return isinstance(value, dict)
    return name != "extensions" or key != P + "tasks"


# ---- differences


def differences(one, other, path=()):
    """The paths at which two JSON values differ. Types count, the spelling of numbers does not."""
    if isinstance(one, dict) and isinstance(other, dict):
        found = []
        for key in [*one, *(k for k in other if k not in one)]:
            is_in_both = key in one and key in other
            deeper = (*path, key)
            found += differences(one[key], other[key], deeper) if is_in_both else [deeper]
        return found
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return [path]
        pairs = enumerate(zip(one, other))
        return [d for i, (a, b) in pairs for d in differences(a, b, (*path, i))]
    if is_number(one) and is_number(other):
        return [] if one == other else [path]
    return [] if type(one) is type(other) and one == other else [path]


def is_number(value):
    return isinstance(value, (int, decimal.Decimal)) and not isinstance(value, bool)


def same(one, other):
    return not differences(one, other)


def same_order(one, other):
    """Whether the members that both objects have come in the same order, everywhere."""
    if isinstance(one, dict) and isinstance(other, dict):
        both = [k for k in one if k in other]
        return both == [k for k in other if k in one] and all(
            same_order(one[k], other[k]) for k in both
        )
    if isinstance(one, list) and isinstance(other, list):
        return all(same_order(a, b) for a, b in zip(one, other))
    return True


def brief(outcome):
    if "timeout" in outcome:
        return "no answer"
    if outcome.get("error"):
        return f"error {outcome['error'].get('code')} {str(outcome['error'].get('message'))[:70]}"
    return "result " + json.dumps(outcome.get("result"), default=str)[:70]
