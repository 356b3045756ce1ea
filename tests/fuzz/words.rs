//! Texts of chance: values as the protocol has them, spelled oddly now and then, and garbled ones.

use super::rng::Rng;

/// What may stand under a name.
enum Shape {
    /// One of these, as JSON text.
    Words(&'static [&'static str]),
    /// A string.
    Text,
    /// A number.
    Number,
    /// An object with some of these members; `name=shape` where the shape has another name.
    Object(&'static [&'static str]),
    /// An array of the shape.
    List(&'static str),
    /// An object of any names and this shape.
    Map(&'static str),
    /// Anything.
    Any,
}

use Shape::{Any, List, Map, Number, Object, Text, Words};

const EMPTY: Shape = Words(&["{}", "{\"x\":1}"]);
const FLAG: Shape = Words(&["true", "false"]);
const RESULT: &[&str] =
    &["resultType", "ttlMs", "cacheScope", "_meta", "nextCursor", "isError", "description"];

#[rustfmt::skip]
const SHAPES: &[(&str, Shape)] = &[
    // A line.
    ("line", Object(&["jsonrpc", "id", "method", "params=any", "result=any", "error"])),
    ("jsonrpc", Words(&["\"2.0\"", "\"2.0\"", "\"2.0\"", "\"\\u0032.0\"", "\"1.0\"", "2.0"])),
    ("id", Words(&["1", "0", "-1", "\"\"", "\"1\"", "1.0", "1.5", "1e3", "1e-3", "10e-1", "12345678901234567890123", "\"\\ud83d\"", "7.00", "18446744073709551616", "null", "{}"])),
    ("method", Words(&["\"tools/call\"", "\"ping\"", "\"roots\\/list\"", "\"\"", "\"\\ud800\"", "7"])),
    ("any", Any),
    ("deep", Words(&["1", "1", "1", "@nested"])),
    // Requests.
    ("call params", Object(&["name", "arguments=map", "_meta", "inputResponses=map", "requestState", "task", "x"])),
    ("prompt params", Object(&["name", "arguments=texts", "_meta", "inputResponses=map", "requestState"])),
    ("read params", Object(&["uri", "_meta", "inputResponses=map", "requestState", "task"])),
    ("list params", Object(&["cursor", "_meta"])),
    ("completion params", Object(&["ref", "argument", "context", "_meta"])),
    ("ref", Object(&["type=ref type", "name", "uri"])),
    ("ref type", Words(&["\"ref/prompt\"", "\"ref/resource\"", "\"ref\\/prompt\"", "\"ref\""])),
    ("argument", Object(&["name", "value"])),
    ("context", Object(&["arguments=texts"])),
    ("listen params", Object(&["notifications", "_meta"])),
    ("notifications", Object(&["toolsListChanged=flag", "promptsListChanged=flag", "resourcesListChanged=flag", "resourceSubscriptions=text list"])),
    ("envelope params", Object(&["_meta=envelope", "name"])),
    ("envelope", Object(&["io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/logLevel", "progressToken", "x"])),
    ("_meta", Object(&[
        "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/clientInfo",
        "io.modelcontextprotocol/logLevel", "io.modelcontextprotocol/subscriptionId", "io.modelcontextprotocol/serverInfo",
        "io.modelcontextprotocol/related-task", "io.modelcontextprotocol/model-immediate-response", "io.modelcontextprotocol/odd", "progressToken", "traceparent",
    ])),
    ("io.modelcontextprotocol/protocolVersion", Words(&["\"2026-07-28\"", "\"2026-07-28\"", "\"2026-07-28\"", "\"2026-07-\\u0032\\u0038\"", "\"2025-11-25\"", "\"\""])),
    ("io.modelcontextprotocol/clientCapabilities", Object(&["elicitation", "sampling", "roots", "experimental", "extensions", "tasks"])),
    ("io.modelcontextprotocol/clientInfo", Object(&["name", "version", "title"])),
    ("io.modelcontextprotocol/serverInfo", Object(&["name", "version", "title"])),
    ("io.modelcontextprotocol/logLevel", Words(&["\"debug\"", "\"info\"", "\"notice\"", "\"warning\"", "\"err\\u006fr\"", "\"critical\"", "\"alert\"", "\"emergency\"", "\"Error\""])),
    ("progressToken", Words(&["0", "1", "\"\"", "\"p\"", "1.0", "1.5", "1e400", "true"])),
    ("elicitation", Object(&["form=empty", "url=empty"])),
    ("sampling", Object(&["tools=empty", "context=empty"])),
    ("roots", EMPTY),
    ("experimental", Map("empty")),
    ("extensions", Object(&["io.modelcontextprotocol/tasks=empty", "vendor=empty", "y=any"])),
    ("empty", EMPTY),
    // Results.
    ("call result", Object(&["content=block list", "structuredContent=any", "isError", "_meta", "resultType", "ttlMs", "cacheScope", "nextCursor", "description"])),
    ("prompt result", Object(&["description", "messages", "_meta", "resultType", "nextCursor"])),
    ("read result", Object(&["contents", "ttlMs", "cacheScope", "_meta", "resultType"])),
    ("tools result", Object(&["tools", "nextCursor", "ttlMs", "cacheScope", "_meta", "resultType"])),
    ("prompts result", Object(&["prompts", "nextCursor", "ttlMs", "cacheScope", "_meta", "resultType"])),
    ("resources result", Object(&["resources", "nextCursor", "ttlMs", "cacheScope", "_meta", "resultType"])),
    ("templates result", Object(&["resourceTemplates=resources", "nextCursor", "ttlMs", "cacheScope", "_meta"])),
    ("completion result", Object(&["completion", "_meta", "resultType", "ttlMs"])),
    ("vendor result", Object(RESULT)),
    ("completion", Object(&["values=many", "hasMore=flag", "total"])),
    ("total", Number),
    ("resultType", Words(&["\"complete\"", "\"x\"", "\"input_required\""])),
    ("ttlMs", Words(&["0", "5", "1.0", "1.5", "-1", "1e3", "\"1\"", "-0"])),
    ("cacheScope", Words(&["\"public\"", "\"private\"", "\"publi\\u0063\"", "\"x\""])),
    ("isError", FLAG),
    ("tools", Words(&["@tool list", "@tool list", "@plain tools"])),
    ("tool list", List("tool")),
    ("plain tools", List("plain tool")),
    ("plain tool", Words(&["{\"name\":\"b\",\"inputSchema\":{\"type\":\"object\"}}", "{\"inputSchema\":{\"type\":\"object\"}}", "{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\",\"a\":1}}"])),
    ("tool", Object(&["name", "title", "inputSchema", "outputSchema=any", "execution", "annotations=map", "_meta=map", "description"])),
    ("inputSchema", Object(&["type=schema type", "properties=map", "required=text list", "title", "$schema=title"])),
    ("schema type", Words(&["\"object\"", "\"object\"", "\"\\u006fbject\"", "\"string\"", "[\"object\",\"null\"]"])),
    ("execution", Words(&["{\"taskSupport\":\"required\"}", "{}"])),
    ("prompts", List("prompt")),
    ("prompt", Object(&["name", "title", "arguments=prompt arguments", "_meta=map"])),
    ("prompt arguments", List("prompt argument")),
    ("prompt argument", Object(&["name", "description", "required=flag"])),
    ("resources", List("resource")),
    ("resource", Object(&["uri", "name", "mimeType", "text", "annotations=map", "_meta=map"])),
    ("contents", List("resource")),
    ("messages", List("message of")),
    ("message of", Object(&["role", "content=block or blocks"])),
    ("block or blocks", Words(&["@block", "@block list", "@block"])),
    ("block list", List("block")),
    ("block", Object(&["type=block type", "text", "resource", "annotations=map", "data=any"])),
    ("block type", Words(&["\"text\"", "\"text\"", "\"text\"", "\"t\\u0065xt\"", "\"image\"", "\"resource\""])),
    ("role", Words(&["\"user\"", "\"assistant\"", "\"us\\u0065r\"", "\"system\""])),
    ("map", Map("any")),
    ("texts", Map("title")),
    ("text list", List("uri")),
    ("many", Words(&["[]", "@text list", "@hundred", "@hundred and one"])),
    ("flag", FLAG),
    ("arguments", Map("any")),
    // Errors.
    ("error", Object(&["code", "message", "data=error data", "x"])),
    ("code", Words(&["-32002", "-32042", "-32042.0", "-32020", "-32099", "-32100", "-32019", "-32000", "-32603", "0", "5", "1.5", "\"1\"", "1e3", "99999999999999999999", "-3.2042e4"])),
    ("error data", Words(&["0", "false", "\"\"", "null", "@visits", "@visits", "@any"])),
    ("visits", Object(&["elicitations=visit list"])),
    ("visit list", List("visit")),
    ("visit", Object(&["mode", "elicitationId", "url", "message", "x=deep"])),
    // The handshake.
    ("initialize result", Object(&["protocolVersion=title", "capabilities", "serverInfo=identity", "instructions", "_meta"])),
    ("identity", Object(&["name", "version", "title", "icons=any", "websiteUrl=url"])),
    ("capabilities", Object(&["tools=capability", "prompts=capability", "resources=capability", "completions=empty", "logging=empty", "tasks=empty", "experimental=map", "extensions", "vendor=any"])),
    ("capability", Object(&["listChanged=flag", "subscribe=flag", "x=any"])),
    // Questions and answers.
    ("form question", Object(&["mode", "message", "requestedSchema=form", "task", "_meta", "elicitationId", "x=deep"])),
    ("url question", Object(&["mode=url mode", "message", "url", "elicitationId", "task", "_meta"])),
    ("sampling question", Object(&["messages", "includeContext", "tools", "toolChoice=empty", "maxTokens=total", "task", "_meta", "elicitationId", "mode"])),
    ("roots question", Object(&["_meta", "task", "x=deep"])),
    ("mode", Words(&["\"form\"", "\"url\"", "\"f\\u006frm\"", "\"other\"", "null"])),
    ("url mode", Words(&["\"url\"", "\"url\"", "\"ur\\u006c\""])),
    ("form", Object(&["type=schema type", "properties=map", "required=text list", "$schema=title"])),
    ("includeContext", Words(&["\"none\"", "\"thisServer\""])),
    ("task", EMPTY),
    ("form answer", Object(&["action", "content=form content", "x=deep", "_meta=map"])),
    ("action", Words(&["\"accept\"", "\"accept\"", "\"acc\\u0065pt\"", "\"decline\"", "\"cancel\"", "\"no\""])),
    ("form content", Map("form value")),
    ("form value", Words(&["\"a\"", "1", "-1.5e400", "true", "false", "[\"a\",\"b\"]", "[]", "@any"])),
    ("sampling answer", Object(&["role", "model", "content=answer blocks", "stopReason", "x=deep"])),
    ("answer blocks", Words(&["@block", "@text block", "@text blocks", "@text blocks", "@block list"])),
    ("text blocks", List("text block")),
    ("text block", Object(&["type=block type", "text"])),
    ("roots answer", Object(&["roots=root list", "x"])),
    ("root list", List("root")),
    ("root", Object(&["uri=root uri", "name"])),
    ("root uri", Words(&["\"file:///a\"", "\"file:\\/\\/\"", "\"file:/x\"", "\"\\u0066ile:///x\"", "\"http://x\"", "\"file:///\\ud83d\""])),
    ("no answer", Object(&["method", "result=any", "action"])),
    // Notifications.
    ("progress params", Object(&["progressToken", "progress=total", "total", "message", "_meta"])),
    ("log params", Object(&["level", "logger=title", "data=any", "_meta"])),
    ("level", Words(&["\"debug\"", "\"error\"", "\"al\\u0065rt\"", "\"loud\""])),
    ("change params", Object(&["uri", "_meta", "x"])),
    ("arrays", List("any")),
];

const TEXTS: [&str; 25] = [
    "",
    "a",
    "b",
    "a b",
    "\"",
    "\\",
    "é",
    "\u{2028}",
    "file:///a",
    "http://x/",
    "text",
    "null",
    "[{",
    "}]",
    "\u{1}",
    "\u{7f}",
    "😀",
    "\"\\ud83d\"",
    "Unknown resource: x",
    "Unknown prompt: y",
    "Invalid request parameters",
    "object",
    "execution",
    "io.modelcontextprotocol/tasks",
    "a rather long text of more than one block",
];
const NUMBERS: [&str; 22] = [
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "0.5",
    "0.50",
    "1.0",
    "1e0",
    "1E+2",
    "100",
    "1e-2",
    "-2.5e3",
    "1e400",
    "-1e-400",
    "12345678901234567890123",
    "0.1e1",
    "1e99999999999999999999",
    "0e5",
    "10",
    "9007199254740993",
    "0.000",
];
/// Pieces that parsers stumble over.
const PIECES: [&str; 30] = [
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "true",
    "-0",
    "1e400",
    "01",
    "1.",
    ".5",
    "-",
    "\\ud83d",
    "\\u0000",
    "\u{feff}",
    "\u{2028}",
    " ",
    "\t",
    "\r",
    "\u{1}",
    "\\x",
    "\\u12",
    "\"a\":",
    "\"_meta\":{},",
    "\"\\u005fmeta\":{},",
    "\u{0}",
];

/// How deep values nest, mostly.
const DEPTH: u32 = 6;

/// A value that fits the name, mostly; garbled now and then.
pub(crate) fn input(rng: &mut Rng, name: &str) -> Vec<u8> {
    let text = likely(rng, name, 0);
    if rng.chance(12) { garbled(rng, text.into_bytes()) } else { text.into_bytes() }
}

/// A value that fits the name, mostly.
pub(crate) fn likely(rng: &mut Rng, name: &str, depth: u32) -> String {
    match rng.below(100) {
        0..4 if depth > 0 => "null".into(),
        4..8 => any(rng, depth),
        _ => fitting(rng, name, depth),
    }
}

fn fitting(rng: &mut Rng, name: &str, depth: u32) -> String {
    if depth > DEPTH {
        return scalar(rng);
    }
    let shape = SHAPES.iter().find(|(known, _)| *known == name).map_or(&Text, |(_, shape)| shape);
    match shape {
        Words(words) => {
            let word = *rng.pick(words);
            match word.strip_prefix('@') {
                Some("hundred") => list(100, || "\"v\"".into()),
                Some("nested") => nested(rng),
                Some("hundred and one") => list(101, || number(rng)),
                Some(name) => fitting(rng, name, depth),
                None => word.into(),
            }
        }
        Text => string(rng),
        Number => number(rng),
        Object(names) => object(rng, names, depth),
        List(item) => {
            let length = *rng.pick(&[0, 1, 1, 2, 2, 3, 5]);
            list(length, || likely(rng, item, depth + 1))
        }
        Map(value) => {
            let names: Vec<String> =
                (0..rng.below(4)).map(|_| (*rng.pick(&TEXTS)).to_owned()).collect();
            let members: Vec<(String, String)> = names
                .into_iter()
                .map(|name| (spelled(rng, &name), likely(rng, value, depth + 1)))
                .collect();
            joined(rng, &members)
        }
        Any => any(rng, depth),
    }
}

fn object(rng: &mut Rng, names: &[&str], depth: u32) -> String {
    let fullness = *rng.pick(&[30, 70, 85, 97]);
    let mut members = Vec::new();
    for name in names {
        let (name, shape) = name.split_once('=').unwrap_or((name, name));
        let times = match rng.below(100) {
            0..2 => 2,
            n if n < fullness => 1,
            _ => 0,
        };
        for _ in 0..times {
            members.push((spelled(rng, name), likely(rng, shape, depth + 1)));
        }
    }
    if rng.chance(12) {
        let name = if rng.chance(8) { "\"\\ud83d\"".into() } else { string(rng) };
        members.push((name, any(rng, depth + 1)));
    }
    if rng.chance(2) {
        members.extend((0..30).map(|n| (format!("\"k{}\"", n % 20), n.to_string())));
    }
    if rng.chance(35) {
        for at in (1..members.len()).rev() {
            members.swap(at, rng.index(at + 1));
        }
    }
    joined(rng, &members)
}

fn joined(rng: &mut Rng, members: &[(String, String)]) -> String {
    let blank = if rng.chance(6) { *rng.pick(&[" ", "\t", "\r", "  "]) } else { "" };
    let members: Vec<_> = members
        .iter()
        .map(|(name, value)| format!("{blank}{name}{blank}:{blank}{value}"))
        .collect();
    format!("{{{}{blank}}}", members.join(","))
}

fn list(length: usize, mut item: impl FnMut() -> String) -> String {
    let items: Vec<_> = (0..length).map(|_| item()).collect();
    format!("[{}]", items.join(","))
}

/// Any value.
pub(crate) fn any(rng: &mut Rng, depth: u32) -> String {
    match rng.below(20) {
        0..3 if depth < DEPTH => list(rng.index(4), || any(rng, depth + 1)),
        3..6 if depth < DEPTH => fitting(rng, "map", depth + 1),
        6..9 if depth < DEPTH => {
            let (name, _) = rng.pick(SHAPES);
            fitting(rng, name, depth + 1)
        }
        9 if rng.chance(20) => nested(rng),
        _ => scalar(rng),
    }
}

/// Around the depth that is interpreted, and now and then deeper than any stack reaches.
pub(crate) fn nested(rng: &mut Rng) -> String {
    let levels = if rng.chance(1) {
        100_000
    } else {
        *rng.pick(&[2, 60, 120, 125, 126, 127, 128, 129, 130, 200])
    };
    let (open, close) = *rng.pick(&[("[", "]"), ("{\"a\":", "}"), ("[0,", "]")]);
    format!("{}1{}", open.repeat(levels), close.repeat(levels))
}

fn scalar(rng: &mut Rng) -> String {
    match rng.below(10) {
        0..4 => string(rng),
        4..7 => number(rng),
        7 => "null".into(),
        8 => "true".into(),
        _ => "false".into(),
    }
}

/// A string, one half of a surrogate pair now and then.
pub(crate) fn string(rng: &mut Rng) -> String {
    if rng.chance(2) {
        // Halves of surrogate pairs and what stands beside them, some of it a pair.
        let units: String =
            (0..rng.range(1, 3)).map(|_| format!("\\u{:04x}", rng.range(0xd700, 0xe0ff))).collect();
        return format!("\"{units}\"");
    }
    let text = *rng.pick(&TEXTS);
    spelled(rng, text)
}

/// A number, one of chance or one of those that are told apart badly.
pub(crate) fn number(rng: &mut Rng) -> String {
    if rng.chance(60) {
        return (*rng.pick(&NUMBERS)).into();
    }
    let sign = if rng.chance(20) { "-" } else { "" };
    let whole = rng.next() >> *rng.pick(&[0, 32, 60, 62]);
    let fraction = if rng.chance(50) {
        format!(".{}{}", "0".repeat(rng.index(3)), rng.below(200))
    } else {
        String::new()
    };
    let exponent = if rng.chance(50) {
        format!("{}{}{}", rng.pick(&["e", "E"]), rng.pick(&["", "+", "-"]), rng.below(12))
    } else {
        String::new()
    };
    format!("{sign}{whole}{fraction}{exponent}")
}

/// The text as a JSON string, some of it escaped where it need not be.
pub(crate) fn spelled(rng: &mut Rng, text: &str) -> String {
    let percent = if rng.chance(6) { 30 } else { 0 };
    let mut out = String::from("\"");
    for c in text.chars() {
        let is_forced = c < ' ' || c == '"' || c == '\\';
        match c {
            '/' if rng.chance(percent) => out += "\\/",
            '"' | '\\' if rng.chance(50) => out.extend(['\\', c]),
            _ if is_forced || rng.chance(percent) => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    out += &if rng.chance(50) {
                        format!("\\u{unit:04x}")
                    } else {
                        format!("\\u{unit:04X}")
                    };
                }
            }
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Garbles a text in a few places; no line feed comes into it.
pub(crate) fn garbled(rng: &mut Rng, mut bytes: Vec<u8>) -> Vec<u8> {
    for _ in 0..rng.range(1, 4) {
        let at = rng.index(bytes.len() + 1);
        let end = (at + rng.index(12)).min(bytes.len());
        match rng.below(8) {
            0 => {
                bytes.drain(at..end);
            }
            1 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            2 => bytes.truncate(at),
            3 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = rng.next().to_le_bytes()[0] & *rng.pick(&[0xff, 0x7f, 0x1f]);
                }
            }
            4 => {
                let text = nested(rng);
                bytes.splice(at..at, text.bytes());
            }
            _ => {
                let piece = *rng.pick(&PIECES);
                bytes.splice(at..at, piece.bytes());
            }
        }
    }
    bytes.retain(|byte| *byte != b'\n');
    bytes
}
