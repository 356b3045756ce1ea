//! What a check comes to: outcomes of rules, and the report that is made of them.
//!
//! Plain data: `probe` gathers, `judge` judges, `conclude` puts it together, `report` prints.

use super::rules::Rule;
use crate::shell::How;

/// How a rule came out in one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Pass,
    /// A finding below an error.
    Warn,
    /// A finding that is an error.
    Fail,
    /// The rule does not apply.
    Skip,
    /// It applies and could not be judged.
    Inconclusive,
}

impl Verdict {
    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Warn => "warn",
            Verdict::Fail => "fail",
            Verdict::Skip => "skip",
            Verdict::Inconclusive => "inconclusive",
        }
    }

    /// Is there something to mend?
    #[must_use]
    pub fn is_finding(self) -> bool {
        matches!(self, Verdict::Warn | Verdict::Fail)
    }
}

/// What was seen of a rule in one column.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it came out.
    pub verdict: Verdict,
    /// What was found; of a rule that was skipped or could not be judged, why. Server text in it is
    /// clean and short already. May be empty where the rule passed.
    pub found: String,
    /// The method that is concerned, for the place of a finding; "" where there is none.
    pub method: &'static str,
    /// The frames that show it.
    pub evidence: Vec<Frame>,
    /// It came to this because something came too late, and shows no more than that.
    pub late: Option<Late>,
}

/// What came when its time was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// The first answer of a process.
    Start,
    /// Another answer.
    Answer,
    /// That to `initialize`, which is the first request behind this program. Alone it never came either.
    Handshake,
}

/// One line on its way to or from a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The child: `A`, `B`, `C`, `D`, `E`, ...
    pub child: char,
    /// Milliseconds since that child was started.
    pub ms: u64,
    /// From us to the child.
    pub is_ours: bool,
    /// The line, or as much of it as is kept ([`Frame::KEPT`] bytes), not cleaned.
    pub text: String,
    /// Bytes of the whole line.
    pub bytes: usize,
}

impl Frame {
    /// Bytes of a line that are kept.
    pub const KEPT: usize = 2 << 10;

    /// Is only the beginning of the line kept?
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.text.len() < self.bytes
    }
}

/// Who has to mend a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The SDK, by an upgrade.
    Sdk,
    /// The author of the server.
    Server,
    /// Nobody can tell.
    Unknown,
}

impl Owner {
    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Owner::Sdk => "sdk",
            Owner::Server => "server",
            Owner::Unknown => "unknown",
        }
    }
}

/// One rule in all columns that were run.
#[derive(Clone, Debug)]
pub struct RuleResult {
    /// Which rule.
    pub rule: &'static Rule,
    /// The server alone.
    pub native: Outcome,
    /// The server behind this program, if that was run.
    pub wrapped: Option<Outcome>,
    /// Who mends the native finding.
    pub owner: Owner,
    /// How; "" where there is no native finding.
    pub fix: String,
}

/// The verdict on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overall {
    /// No native error.
    ReadyNatively,
    /// Errors natively, none when wrapped.
    ReadyWhenWrapped,
    /// Errors in both columns, or natively and the other was not run.
    NotReady,
    /// No process ever answered.
    Unreachable,
}

impl Overall {
    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Overall::ReadyNatively => "ready-natively",
            Overall::ReadyWhenWrapped => "ready-when-wrapped",
            Overall::NotReady => "not-ready",
            Overall::Unreachable => "unreachable",
        }
    }
}

/// Which protocol the server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Era {
    /// It answers, but nothing usable.
    #[default]
    Unknown,
    /// Only after `initialize`.
    Legacy,
    /// Only 2026-07-28.
    Modern,
    /// Both, by how it is opened.
    Dual,
}

impl Era {
    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Era::Unknown => "unknown",
            Era::Legacy => "legacy",
            Era::Modern => "modern",
            Era::Dual => "dual",
        }
    }

    /// Does it serve 2026-07-28?
    #[must_use]
    pub fn is_modern(self) -> bool {
        matches!(self, Era::Modern | Era::Dual)
    }
}

/// The SDK that a server was built with, as far as it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sdk {
    /// `typescript`, `python`, `rust`.
    pub name: &'static str,
    /// `1.x`, `2.x`, ...; "" where the marks of several releases are the same.
    pub line: &'static str,
    /// `package` (its own file) or `wire` (how its lines look).
    pub why: &'static str,
    /// Does this release serve 2026-07-28? `None`: its marks do not tell.
    pub is_modern: Option<bool>,
}

impl Sdk {
    /// What it calls itself.
    #[must_use]
    pub fn title(&self) -> &'static str {
        match self.name {
            "typescript" => "TypeScript SDK",
            "python" => "Python SDK",
            "rust" => "rmcp",
            other => other,
        }
    }

    /// What stands before its name: the look of its lines is no proof.
    #[must_use]
    pub fn doubt(&self) -> &'static str {
        if self.why == "wire" { "looks like " } else { "" }
    }
}

/// Something that is different for clients when the server is wrapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its name, for instance `serial-calls`.
    pub id: &'static str,
    /// One sentence for the person.
    pub text: &'static str,
    /// What shows that it concerns this server.
    pub because: String,
}

/// What older revisions have and 2026-07-28 has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// A ping that the server sends.
    ServerPing,
    /// The server asks for roots.
    Roots,
    /// The server asks for a completion.
    Sampling,
    /// The server asks the person.
    Elicitation,
    /// Several messages in one array.
    Batches,
    /// Log messages, and the capability.
    Logging,
    /// Progress that nobody asked for.
    Progress,
    /// A change of a list told outside a stream.
    ListChanged,
    /// Subscriptions to a resource.
    Subscribe,
    /// Tasks of the core.
    Tasks,
    /// Completions that no capability announces.
    Completions,
    /// Experimental capabilities.
    Experimental,
}

impl Gone {
    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Gone::ServerPing => "ping from the server",
            Gone::Roots => "roots/list",
            Gone::Sampling => "sampling",
            Gone::Elicitation => "elicitation",
            Gone::Batches => "batches",
            Gone::Logging => "logging",
            Gone::Progress => "progress without token",
            Gone::ListChanged => "listChanged outside listen",
            Gone::Subscribe => "resources.subscribe",
            Gone::Tasks => "tasks",
            Gone::Completions => "completions without capability",
            Gone::Experimental => "experimental",
        }
    }
}

/// A feature that 2026-07-28 does not have, in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Which one.
    pub what: Gone,
    /// Was it seen at work, and not only declared?
    pub is_observed: bool,
    /// The child that showed it.
    pub child: char,
    /// Where.
    pub frame: Option<Frame>,
}

/// One process of the check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildNote {
    /// `A`, `B`, ...
    pub id: char,
    /// Did it run behind this program?
    pub is_wrapped: bool,
    /// Milliseconds from its start to its end.
    pub ms: u64,
    /// Lines in both directions.
    pub frames: usize,
    /// Its exit status; `None` where a signal ended it.
    pub exit: Option<i32>,
    /// What ended it.
    pub ended: How,
}

/// Everything a report shows.
#[derive(Clone, Debug)]
pub struct Report {
    /// The command and its arguments.
    pub command: Vec<String>,
    /// The verdict.
    pub verdict: Overall,
    /// Why it is unreachable; else "".
    pub reason: String,
    /// Which protocol it speaks.
    pub era: Era,
    /// Name and version it gave itself, not cleaned.
    pub server: Option<(String, String)>,
    /// What it was built with.
    pub sdk: Option<Sdk>,
    /// All rules that were asked for, in the order of their ids; none when unreachable.
    pub results: Vec<RuleResult>,
    /// Rules that were asked for.
    pub asked: usize,
    /// What the verdict says nothing of, one line each.
    pub notes: Vec<String>,
    /// Was the second column run?
    pub is_wrapped_run: bool,
    /// What changes when wrapped.
    pub changes: Vec<Change>,
    /// What the server uses that is gone.
    pub features: Vec<Feature>,
    /// The processes, in the order of their start.
    pub children: Vec<ChildNote>,
    /// What the children wrote to stderr, the last lines; shown with `--verbose`.
    pub stderr: Vec<String>,
    /// Tools that were listed and not called.
    pub uncalled_tools: usize,
    /// Milliseconds from first to last.
    pub duration_ms: u64,
    /// When it began, in seconds since 1970.
    pub started_unix: u64,
    /// The exit status that goes with it.
    pub exit_code: u8,
}

impl Report {
    /// Native findings of this verdict.
    pub fn native(&self, verdict: Verdict) -> impl Iterator<Item = &RuleResult> {
        self.results.iter().filter(move |result| result.native.verdict == verdict)
    }

    /// Rules that fail when wrapped.
    pub fn wrapped_failures(&self) -> impl Iterator<Item = &RuleResult> {
        let fails = |result: &&RuleResult| {
            result.wrapped.as_ref().is_some_and(|outcome| outcome.verdict == Verdict::Fail)
        };
        self.results.iter().filter(fails)
    }
}

/// Milliseconds as seconds with one decimal.
#[must_use]
pub fn tenths(ms: u64) -> String {
    let tenths = ms.saturating_add(50) / 100;
    [&*(tenths / 10).to_string(), ".", &*(tenths % 10).to_string()].concat()
}
