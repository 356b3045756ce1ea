//! What a server was built with, who mends a finding, and how.
//!
//! An SDK is recognised by its package beside the script that COMMAND names, or by marks in its
//! lines. What a server says of itself is no evidence: anyone can write any name there. Marks that
//! disagree recognise nothing.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::model::{Era, Owner, Sdk};
use super::rules::{Kind, Rule};
use crate::message::object::Object;
use crate::message::value::string;

/// Bytes that are read of a `package.json`; a longer one is left alone.
const MOST_READ: u64 = 64 << 10;

/// Folders above a script that are looked at.
const MOST_LEVELS: usize = 20;

/// The line of [`Sdk`] for the framework on top of the Python SDK: what it does is not the SDK's.
const FASTMCP: &str = "fastmcp 4.x";

/// Marks of SDKs in what a server wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// A result began with `{"result":`.
    has_result_first: bool,
    /// A result began otherwise.
    has_result_later: bool,
    /// An error began with `{"jsonrpc":"2.0","id":`.
    has_plain_error: bool,
    /// An error began otherwise.
    has_odd_error: bool,
    /// A tool says that it is no task.
    forbids_tasks: bool,
    /// A tool has the member that fastmcp adds.
    has_fastmcp_tool: bool,
    /// An error before the handshake as Python 1.x has it.
    is_python_1: bool,
    /// An unknown method as Python 2.x has it.
    is_python_2: bool,
    /// An unknown method as rmcp has it.
    is_rmcp: bool,
    era: Era,
}

impl Marks {
    /// A line of the server as it came; whatever is no answer leaves no mark.
    pub(super) fn note_line(&mut self, text: &str) {
        let Some(line) = Object::parse(text).filter(|line| line.get("id").is_some()) else {
            return;
        };
        if line.get("result").is_some() {
            let is_first = text.starts_with(r#"{"result":"#);
            self.has_result_first |= is_first;
            self.has_result_later |= !is_first;
        } else if line.get("error").is_some() {
            let is_plain = text.starts_with(r#"{"jsonrpc":"2.0","id":"#);
            self.has_plain_error |= is_plain;
            self.has_odd_error |= !is_plain;
        }
    }

    /// An entry of a list of tools, raw.
    pub(super) fn note_tool(&mut self, tool: &str) {
        let Some(tool) = Object::parse(tool) else { return };
        let support = tool.object("execution").and_then(|execution| execution.get("taskSupport"));
        self.forbids_tasks |= support == Some(r#""forbidden""#);
        let meta = tool.object("_meta");
        self.has_fastmcp_tool |= meta.is_some_and(|meta| meta.object("fastmcp").is_some());
    }

    /// An error that answered a request for `method`; `message` and `data` are raw.
    pub(super) fn note_error(
        &mut self,
        code: i64,
        message: Option<&str>,
        data: Option<&str>,
        method: &str,
        is_before_handshake: bool,
    ) {
        let says = |raw: Option<&str>, text: &str| raw.and_then(string).is_some_and(|s| s == text);
        match code {
            -32601 => {
                self.is_rmcp |= says(message, method);
                self.is_python_2 |= says(message, "Method not found") && says(data, method);
            }
            -32602 if is_before_handshake => {
                self.is_python_1 |= says(message, "Invalid request parameters") && says(data, "");
            }
            _ => {}
        }
    }

    /// Which protocol the server turned out to speak. It tells releases with the same marks apart.
    pub(super) fn note_era(&mut self, era: Era) {
        self.era = era;
    }
}

/// The SDK that these marks belong to.
pub(super) fn of_wire(marks: &Marks) -> Option<Sdk> {
    // The order of members is a mark of its own, which all other SDKs lack.
    let is_typescript = marks.has_result_first;
    let is_mixed = marks.has_result_later || marks.has_odd_error || !marks.has_plain_error;
    let is_modern = marks.era.is_modern();
    let (name, line, serves) =
        match (is_typescript, marks.is_python_1, marks.is_python_2, marks.is_rmcp) {
            (true, false, false, false) if is_mixed || marks.has_fastmcp_tool => return None,
            (true, false, false, false) if marks.forbids_tasks => {
                ("typescript", "1.x", Some(false))
            }
            (true, false, false, false) if is_modern => ("typescript", "2.x", Some(true)),
            // The old one without its high-level half, or the new one without serveStdio.
            (true, false, false, false) => ("typescript", "", None),
            (false, true, false, false) => ("python", "1.x", Some(false)),
            (false, false, true, false) if marks.has_fastmcp_tool => {
                ("python", FASTMCP, Some(true))
            }
            (false, false, true, false) => ("python", "2.x", Some(true)),
            (false, false, false, true) if is_modern => ("rust", "3.x", Some(true)),
            // 3.x serves both eras unless it is told not to.
            (false, false, false, true) if marks.era == Era::Legacy => ("rust", "", Some(false)),
            (false, false, false, true) => ("rust", "", None),
            _ => return None,
        };
    Some(Sdk { name, line, why: "wire", is_modern: serves })
}

/// Name and version of the TypeScript SDK that a script gets: of the nearest `node_modules` that
/// has one. `None` where that has two, since the script may use either.
pub(super) fn package_near(script: &Path) -> Option<(String, String)> {
    let is_script = |end: &OsStr| ["js", "mjs", "cjs", "ts"].iter().any(|known| end == *known);
    // As Node does: a link, for instance of a folder of commands, counts as the file it leads to.
    let real = fs::canonicalize(script).ok()?;
    if !real.extension().is_some_and(is_script) || !real.is_file() {
        return None;
    }
    for folder in real.ancestors().skip(1).take(MOST_LEVELS) {
        let scope = folder.join("node_modules/@modelcontextprotocol");
        match (package_in(&scope.join("sdk")), package_in(&scope.join("server"))) {
            (None, None) => {}
            (Some(_), Some(_)) => return None,
            (one, other) => return one.or(other),
        }
    }
    None
}

fn package_in(folder: &Path) -> Option<(String, String)> {
    let path = folder.join("package.json");
    // Anything else might keep us waiting.
    if !path.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(MOST_READ).read_to_string(&mut text).ok()?;
    let package = Object::parse(&text)?;
    Some((package.string("name")?.into_owned(), package.string("version")?.into_owned()))
}

/// The SDK whose package is near a script that `words` (COMMAND and its arguments) name; `cwd` is
/// where the command will run.
pub(super) fn of_command(words: &[String], cwd: Option<&Path>) -> Option<Sdk> {
    let place = |word: &String| cwd.map_or_else(|| PathBuf::from(word), |cwd| cwd.join(word));
    let (package, version) = words.iter().find_map(|word| package_near(&place(word)))?;
    let major = version.split('.').next();
    let (line, is_modern) = match (package.as_str(), major) {
        ("@modelcontextprotocol/sdk", Some("0" | "1")) => ("1.x", Some(false)),
        ("@modelcontextprotocol/server", Some("2")) => ("2.x", Some(true)),
        ("@modelcontextprotocol/sdk" | "@modelcontextprotocol/server", _) => ("", None),
        _ => return None,
    };
    Some(Sdk { name: "typescript", line, why: "package", is_modern })
}

/// What package and lines say together: the package, unless the lines contradict it.
pub(super) fn agreed(package: Option<Sdk>, wire: Option<Sdk>) -> Option<Sdk> {
    let (Some(one), Some(other)) = (package, wire) else { return package.or(wire) };
    let is_line_same = one.line == other.line || one.line.is_empty() || other.line.is_empty();
    (one.name == other.name && is_line_same).then_some(one)
}

/// What to do with one SDK.
struct Stack {
    name: &'static str,
    /// From a release before 2026-07-28.
    upgrade: &'static str,
    /// With a release that serves it.
    start: &'static str,
}

#[rustfmt::skip]
static STACKS: [Stack; 3] = [
    Stack { name: "typescript",
        upgrade: "move to @modelcontextprotocol/server 2.x: split packages, registerTool, and a factory for serveStdio instead of a transport",
        start: "hand a factory to serveStdio; a StdioServerTransport connected by hand stays legacy" },
    Stack { name: "python",
        upgrade: "move to mcp 2.x, where FastMCP became MCPServer (mcp.server.mcpserver); from fastmcp, to fastmcp 4.x",
        start: "start it with run(), which serves both eras" },
    Stack { name: "rust",
        upgrade: "raise rmcp to 3.x; state of a call moves to requestState",
        start: "start it with serve(stdio()), which serves both eras" },
];

/// What an SDK that serves 2026-07-28 does wrong, measured: nothing its users can mend.
fn gap(rule: &Rule, sdk: Option<&Sdk>) -> Option<&'static str> {
    let sdk = sdk?;
    match (rule.id, sdk.name, sdk.line) {
        ("MCP018", "rust", "3.x") => Some("no action: rmcp 3.x names the server in no list"),
        ("MCP015", "python", FASTMCP) => {
            Some("no action for logging: fastmcp 4.x always advertises it; otherwise ")
        }
        _ => None,
    }
}

/// Who mends a finding of `rule`.
pub(super) fn owner(rule: &Rule, sdk: Option<&Sdk>) -> Owner {
    if gap(rule, sdk).is_some() {
        return Owner::Sdk;
    }
    match (rule.kind, sdk.and_then(|sdk| sdk.is_modern)) {
        (Kind::Server, _) | (Kind::Plumbing, Some(true)) => Owner::Server,
        (Kind::Plumbing, Some(false)) => Owner::Sdk,
        (Kind::Plumbing, None) => Owner::Unknown,
    }
}

/// How a finding of `rule` is mended; `owner` is what [`owner`] said.
pub(super) fn fix(rule: &Rule, sdk: Option<&Sdk>, owner: Owner) -> String {
    let by_hand = rule.by_hand;
    if let Some(gap) = gap(rule, sdk) {
        let rest = if gap.ends_with(' ') { by_hand } else { "" };
        return [gap, rest].concat();
    }
    if rule.kind == Kind::Server {
        return by_hand.to_owned();
    }
    let stack =
        sdk.and_then(|sdk| STACKS.iter().find(|stack| stack.name == sdk.name).zip(Some(sdk)));
    let Some((stack, sdk)) = stack else {
        return ["if you use an SDK, upgrade it; otherwise ", by_hand].concat();
    };
    let space = if sdk.line.is_empty() { "" } else { " " };
    let [middle, advice, joint, rest] = match owner {
        Owner::Sdk => [": ", stack.upgrade, "", ""],
        Owner::Server => [", which serves 2026-07-28: ", stack.start, "; if it is: ", by_hand],
        Owner::Unknown => [": ", stack.upgrade, "; if it is that already: ", stack.start],
    };
    [sdk.doubt(), sdk.title(), space, sdk.line, middle, advice, joint, rest].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::rules::find;

    const OLD: Sdk =
        Sdk { name: "typescript", line: "1.x", why: "package", is_modern: Some(false) };
    const NEW: Sdk = Sdk { line: "2.x", is_modern: Some(true), ..OLD };
    const SOME: Sdk = Sdk { line: "", why: "wire", is_modern: None, ..OLD };
    const RMCP: Sdk = Sdk { name: "rust", line: "3.x", why: "wire", is_modern: Some(true) };
    const FAST: Sdk = Sdk { name: "python", line: FASTMCP, why: "wire", is_modern: Some(true) };

    fn rule(id: &str) -> &'static Rule {
        find(id).unwrap()
    }

    fn typescript() -> Marks {
        let mut marks = Marks::default();
        marks.note_line(r#"{"result":{"tools":[]},"jsonrpc":"2.0","id":1}"#);
        marks.note_line(
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}"#,
        );
        marks.note_error(-32601, Some(r#""Method not found""#), None, "ping", true);
        marks
    }

    fn python_1() -> Marks {
        let mut marks = Marks::default();
        marks.note_line(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        let message = Some(r#""Invalid request parameters""#);
        marks.note_error(-32602, message, Some(r#""""#), "tools/list", true);
        marks
    }

    fn python_2() -> Marks {
        let mut marks = Marks::default();
        marks.note_line(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        marks.note_error(-32601, Some(r#""Method not found""#), Some(r#""a/b""#), "a/b", true);
        marks
    }

    fn rmcp() -> Marks {
        let mut marks = Marks::default();
        marks.note_line(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        marks.note_error(-32601, Some(r#""a/b""#), None, "a/b", false);
        marks
    }

    fn seen(marks: &Marks) -> Option<(&'static str, &'static str, Option<bool>)> {
        of_wire(marks).map(|sdk| (sdk.name, sdk.line, sdk.is_modern))
    }

    fn of_era(mut marks: Marks, era: Era) -> Marks {
        marks.note_era(era);
        marks
    }

    #[test]
    fn typescript_by_its_order_of_members() {
        let mut marks = typescript();
        assert_eq!(seen(&marks), Some(("typescript", "", None)));
        assert_eq!(seen(&of_era(marks, Era::Legacy)), Some(("typescript", "", None)));
        assert_eq!(seen(&of_era(marks, Era::Dual)), Some(("typescript", "2.x", Some(true))));
        marks.note_tool(r#"{"name":"a","execution":{"taskSupport":"optional"}}"#);
        assert_eq!(seen(&marks), Some(("typescript", "", None)));
        marks.note_tool(r#"{"name":"b","execution":{"taskSupport":"forbidden"}}"#);
        assert_eq!(seen(&marks), Some(("typescript", "1.x", Some(false))));
    }

    #[test]
    fn typescript_needs_both_shapes_and_no_other() {
        let mut marks = Marks::default();
        marks.note_line(r#"{"result":{},"jsonrpc":"2.0","id":1}"#);
        assert_eq!(seen(&marks), None);
        for other in [
            r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
            r#"{"error":{"code":1,"message":""},"jsonrpc":"2.0","id":3}"#,
        ] {
            let mut marks = typescript();
            marks.note_line(other);
            assert_eq!(seen(&marks), None);
        }
        // Neither is an answer.
        let mut marks = typescript();
        marks.note_line(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#);
        marks.note_line("started");
        assert_eq!(marks, typescript());
    }

    #[test]
    fn python_by_its_errors() {
        assert_eq!(seen(&python_1()), Some(("python", "1.x", Some(false))));
        assert_eq!(seen(&python_2()), Some(("python", "2.x", Some(true))));
        let mut marks = python_2();
        marks.note_tool(r#"{"name":"a","_meta":{"fastmcp":{"tags":[]}}}"#);
        assert_eq!(seen(&marks), Some(("python", FASTMCP, Some(true))));
        // After the handshake it is the answer of many.
        let mut marks = Marks::default();
        let message = Some(r#""Invalid request parameters""#);
        marks.note_error(-32602, message, Some(r#""""#), "tools/list", false);
        marks.note_error(-32602, message, None, "tools/list", true);
        marks.note_error(-32601, Some(r#""Method not found""#), Some(r#""x""#), "a/b", true);
        assert_eq!(seen(&marks), None);
    }

    #[test]
    fn rmcp_by_its_message() {
        assert_eq!(seen(&rmcp()), Some(("rust", "", None)));
        assert_eq!(seen(&of_era(rmcp(), Era::Modern)), Some(("rust", "3.x", Some(true))));
        assert_eq!(seen(&of_era(rmcp(), Era::Legacy)), Some(("rust", "", Some(false))));
    }

    #[test]
    fn marks_that_disagree_recognise_nothing() {
        assert_eq!(seen(&Marks::default()), None);
        let (one, two, rust) = (python_1(), python_2(), rmcp());
        let all = [typescript(), one, two, rust];
        for (at, first) in all.iter().enumerate() {
            for second in all.iter().skip(at + 1) {
                let both = Marks {
                    has_result_first: first.has_result_first || second.has_result_first,
                    is_python_1: first.is_python_1 || second.is_python_1,
                    is_python_2: first.is_python_2 || second.is_python_2,
                    is_rmcp: first.is_rmcp || second.is_rmcp,
                    ..typescript()
                };
                assert_eq!(seen(&both), None, "{both:?}");
            }
        }
        assert_eq!(agreed(Some(OLD), Some(FAST)), None);
        assert_eq!(agreed(Some(OLD), Some(Sdk { why: "wire", ..NEW })), None);
    }

    #[test]
    fn the_package_counts_more() {
        assert_eq!(agreed(Some(NEW), Some(SOME)), Some(NEW));
        assert_eq!(agreed(None, Some(SOME)), Some(SOME));
        assert_eq!(agreed(Some(OLD), None), Some(OLD));
        assert_eq!(agreed(None, None), None);
    }

    #[test]
    fn packages_are_found_above_the_script() {
        let root = std::env::temp_dir().join(format!("mcp-uplift-sdk-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let package = |folder: &str, name: &str, version: &str, more: &str| {
            let path = format!("{folder}node_modules/@modelcontextprotocol/{name}/package.json");
            let text = r#"{"name":"@modelcontextprotocol/"#;
            write(&path, &format!("{text}{name}\",\"version\":\"{version}\"{more}}}"));
        };
        package("", "sdk", "1.32.2", "");
        package("new/", "server", "2.4.0", "");
        package("both/", "sdk", "1.32.2", "");
        package("both/", "server", "2.4.0", "");
        package("huge/", "server", "2.4.0", &" ".repeat(70_000));
        let scripts =
            ["a/b/old.js", "new/dist/new.mjs", "both/any.ts", "huge/old.cjs", "new/data.json"];
        for script in scripts {
            write(script, "");
        }
        let of = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            of_command(&words, Some(&root))
        };
        assert_eq!(of(&["node", "a/b/old.js"]), Some(OLD));
        assert_eq!(of(&["node", "--no-warnings", "new/dist/new.mjs", "x"]), Some(NEW));
        assert_eq!(of(&["node", "huge/old.cjs"]), Some(OLD));
        assert_eq!(of(&["tsx", "both/any.ts"]), None);
        assert_eq!(of(&["cat", "new/data.json"]), None);
        assert_eq!(of(&["node", "absent.js"]), None);
        assert_eq!(of(&[]), None);
        let found = package_near(&root.join("a/b/old.js")).unwrap();
        assert_eq!(found, ("@modelcontextprotocol/sdk".to_owned(), "1.32.2".to_owned()));
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn owners_come_from_evidence() {
        let (plumbing, server) = (rule("MCP001"), rule("MCP017"));
        assert_eq!(owner(plumbing, Some(&OLD)), Owner::Sdk);
        assert_eq!(owner(plumbing, Some(&NEW)), Owner::Server);
        assert_eq!(owner(plumbing, Some(&SOME)), Owner::Unknown);
        assert_eq!(owner(plumbing, None), Owner::Unknown);
        for sdk in [None, Some(&OLD), Some(&NEW), Some(&SOME)] {
            assert_eq!(owner(server, sdk), Owner::Server);
        }
        assert_eq!(owner(rule("MCP018"), Some(&RMCP)), Owner::Sdk);
        assert_eq!(owner(rule("MCP018"), Some(&NEW)), Owner::Server);
        assert_eq!(owner(rule("MCP015"), Some(&FAST)), Owner::Sdk);
        assert_eq!(owner(rule("MCP015"), Some(&RMCP)), Owner::Server);
    }

    #[test]
    fn fixes_say_what_to_do() {
        let told = |id: &str, sdk: Option<&Sdk>| fix(rule(id), sdk, owner(rule(id), sdk));
        let by_hand = rule("MCP006").by_hand;
        assert_eq!(told("MCP017", Some(&OLD)), rule("MCP017").by_hand);
        assert_eq!(
            told("MCP006", None),
            format!("if you use an SDK, upgrade it; otherwise {by_hand}")
        );
        assert!(told("MCP006", Some(&OLD)).starts_with("TypeScript SDK 1.x: move to "));
        let wire = Sdk { why: "wire", ..OLD };
        assert!(told("MCP006", Some(&wire)).starts_with("looks like TypeScript SDK 1.x: move to "));
        let new = told("MCP006", Some(&NEW));
        assert!(new.starts_with("TypeScript SDK 2.x, which serves 2026-07-28: hand a factory"));
        assert!(new.ends_with(by_hand));
        let some = told("MCP006", Some(&SOME));
        assert!(some.starts_with("looks like TypeScript SDK: move to "));
        assert!(some.contains("; if it is that already: hand a factory"));
        assert!(told("MCP018", Some(&RMCP)).starts_with("no action: "));
        assert!(told("MCP015", Some(&FAST)).ends_with(rule("MCP015").by_hand));
    }
}
