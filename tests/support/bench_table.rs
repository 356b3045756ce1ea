//! The table of figures in the README, made of what `make bench` has measured.

use serde_json::Value;

const START: &str = "<!-- written by make bench -->\n";
const END: &str = "<!-- end of what make bench writes -->";

/// Which way a figure gets better.
#[derive(Clone, Copy)]
enum Better {
    Less,
    More,
}

use Better::{Less, More};

/// One line of the table: what it shows in which unit, the figures of the report behind it, what
/// they are multiplied by, and the program that stands for the bridge.
struct Row {
    what: &'static str,
    figures: &'static [&'static str],
    scale: f64,
    better: Better,
    bridge: &'static str,
}

const fn row(what: &'static str, figures: &'static [&'static str], scale: f64) -> Row {
    Row { what, figures, scale, better: Less, bridge: "bridge" }
}

const KIB_PER_MIB: f64 = 1.0 / 1024.0;

/// `CALLS` and `BLOBS` are put in from the report.
const ROWS: &[Row] = &[
    row("small call / after 5 ms of silence, µs", &["one.lat.p50", "one.lat.idle"], 1.0),
    row("small call on any CPU, µs", &["free.lat.p50"], 1.0),
    Row { better: More, ..row("calls a second, 32 in flight", &["one.thr.32"], 1.0) },
    Row {
        better: More,
        bridge: "parallel",
        ..row("the same with `--parallel 32`", &["one.thr.32"], 1.0)
    },
    Row { better: More, ..row("results of 8 MiB, MB/s", &["one.big.8m"], 1.0) },
    Row { better: More, ..row("arguments of 1 MiB, MB/s", &["one.args.1m"], 1.0) },
    row("list of 500 tools, ms", &["one.list.500"], 1.0),
    row("call with 1,000 progress lines, ms", &["one.progress.1k"], 1.0),
    row("from a call to its question, ms", &["one.mrtr.ask"], 1.0),
    row("from the answer to the result, µs", &["one.mrtr.answer"], 1000.0),
    row("start / stop, ms", &["free.start", "free.stop"], 1.0),
    row("memory when idle, MiB", &["session.rss.idle"], KIB_PER_MIB),
    row("memory after CALLS calls, MiB", &["session.rss.last"], KIB_PER_MIB),
    row(
        "after BLOBS results of 8 MiB / peak, MiB",
        &["session.rss.blobs", "session.peak.blobs"],
        KIB_PER_MIB,
    ),
    row(
        "CPU of a call, first / last of CALLS, µs",
        &["session.cpu.first", "session.cpu.last"],
        1.0,
    ),
    row("size of the program, MiB", &["program.bytes"], KIB_PER_MIB / 1024.0),
];

/// The table with a line about the machine above it. Fails where the report lacks what it needs.
pub(crate) fn table(report: &Value) -> Result<String, String> {
    let has_peer = !report["figures"]["one.lat.p50"]["peer"].is_null();
    let mut head = vec!["", "direct", "null relay", "mcp-uplift", "ratio"];
    if has_peer {
        head.extend(["peer", "ratio to peer"]);
    }
    let mut lines = vec![about(report)?, String::new(), line(&head)];
    lines.push(format!("|---|{}", "---:|".repeat(head.len() - 1)));
    for row in ROWS {
        let what = row.what.replace("CALLS", &of(report, "calls")?);
        let what = what.replace("BLOBS", &of(report, "blobs")?);
        let own = row.medians(report, row.bridge);
        if own.is_empty() {
            return Err(format!("the report has no {} of {}", row.figures.join(", "), row.bridge));
        }
        let mut cells = vec![what, row.medians(report, "direct"), row.medians(report, "null")];
        cells.extend([own, row.ratios(report, "null")]);
        if has_peer {
            cells.extend([row.medians(report, "peer"), row.ratios(report, "peer")]);
        }
        lines.push(line(&cells));
    }
    Ok(lines.join("\n") + "\n")
}

impl Row {
    /// The cell of a program; empty where it has no such figure.
    fn medians(&self, report: &Value, program: &str) -> String {
        let median = |name: &&str| report["figures"][name][program]["median"].as_f64();
        self.cell(|name| median(name).map(|figure| number(figure * self.scale)))
    }

    /// How many times as much the bridge takes as another program does.
    fn ratios(&self, report: &Value, other: &str) -> String {
        let pair = format!("{}/{other}", self.bridge);
        let ratio = |name: &&str| report["ratios"][name][&pair]["median"].as_f64();
        self.cell(|name| {
            ratio(name).map(|ratio| match self.better {
                Less => number(ratio),
                More => number(1.0 / ratio),
            })
        })
    }

    fn cell(&self, figure: impl Fn(&&str) -> Option<String>) -> String {
        let figures: Option<Vec<_>> = self.figures.iter().map(figure).collect();
        figures.unwrap_or_default().join(" / ")
    }
}

/// What to know before reading the figures.
fn about(report: &Value) -> Result<String, String> {
    let machine = &report["machine"];
    let word = |name: &str| machine[name].as_str().ok_or(format!("the machine has no {name}"));
    Ok(format!(
        "Linux {}, {}, {} CPUs; medians of {} rounds. Times differ from machine to machine, so the\n\
         *ratio* counts, formed in each round: how many times as much it takes as through the null relay.",
        word("kernel")?,
        word("arch")?,
        of(machine, "cpus")?,
        of(report, "rounds")?,
    ))
}

fn of(object: &Value, name: &str) -> Result<String, String> {
    object[name].as_f64().map(whole).ok_or(format!("the report has no {name}"))
}

fn line(cells: &[impl AsRef<str>]) -> String {
    let cells: Vec<_> = cells.iter().map(|cell| format!(" {} |", cell.as_ref())).collect();
    format!("|{}", cells.concat())
}

/// Three digits are all that repeats from run to run.
pub(crate) fn number(figure: f64) -> String {
    let rounded = format!("{figure:.2e}").parse().unwrap_or(figure);
    match rounded {
        ..1.0 => format!("{rounded}"),
        ..10.0 => format!("{rounded:.2}"),
        ..100.0 => format!("{rounded:.1}"),
        _ => whole(rounded),
    }
}

/// With a comma before each group of three digits.
fn whole(figure: f64) -> String {
    let digits = format!("{figure:.0}");
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// The page with this table between its two marks; `None` if it lacks them.
pub(crate) fn put(page: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(START)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{START}\n{table}\n{END}{after}"))
}
