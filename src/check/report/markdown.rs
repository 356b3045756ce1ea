//! The report for a step summary or a comment on a change.

use super::lines::{Append as _, command};
use super::words::{
    Tally, is_shown, push_because, push_count, seconds, shown_verdict, wrapped_note,
};
use crate::check::model::{Late, Overall, Owner, Report, RuleResult, Verdict};
use crate::check::rules::SPEC;
use crate::check::secrets::clean;
use crate::shell::is_unsafe;

/// A comment takes no more than 65536 characters.
const LIMIT: usize = 60_000;

/// What says that something was left out, and what closes the list, fits into this.
const RESERVE: usize = 200;

/// A longer command is not worth a line.
const LONG_COMMAND: usize = 1000;

/// The report.
#[must_use]
pub(crate) fn print(report: &Report) -> String {
    let mut out = String::from("### MCP 2026-07-28 readiness: ");
    out.append(&report.verdict.name().replace('-', " "));
    out.append("\n");
    push_summary(&mut out, report);
    let shown: Vec<&RuleResult> = report.results.iter().filter(|result| is_shown(result)).collect();
    let tail = tail(report);
    if !shown.is_empty() {
        push_table(&mut out, &shown, report.is_wrapped_run);
        push_details(&mut out, &shown, LIMIT.saturating_sub(tail.len() + RESERVE));
    }
    out.append(&tail);
    out
}

/// Command and numbers, or why there are none.
fn push_summary(out: &mut String, report: &Report) {
    push_code(out, &clean(&command(&report.command)));
    if report.verdict == Overall::Unreachable {
        out.append(", ");
        push_prose(out, &report.reason);
        out.append("\n");
        return;
    }
    let tally = Tally::of(report);
    out.append(", era ");
    out.append(report.era.name());
    out.append(", ");
    push_count(out, tally.errors, "error");
    push_owners(out, &tally);
    out.append(", ");
    push_count(out, tally.warnings, "warning");
    if tally.inconclusive > 0 {
        out.append(", ");
        out.append(&tally.inconclusive.to_string());
        out.append(" not judged");
    }
    out.append(", ");
    out.append(&seconds(report.duration_ms));
    out.append("\n");
    for note in &report.notes {
        // Lines of one paragraph would become one.
        out.append("\n");
        push_prose(out, note);
        out.append("\n");
    }
}

/// Whose the errors are, in brackets.
fn push_owners(out: &mut String, tally: &Tally) {
    let mut before = " (";
    for (count, whose) in
        [(tally.sdk, " SDK"), (tally.server, " yours"), (tally.unknown, " unknown")]
    {
        if count > 0 {
            out.append(before);
            out.append(&count.to_string());
            out.append(whose);
            before = ", ";
        }
    }
    if before == ", " {
        out.append(")");
    }
}

/// One row for each rule.
fn push_table(out: &mut String, shown: &[&RuleResult], has_wrapped: bool) {
    out.append(if has_wrapped {
        "\n| | Rule | What | Native | Wrapped | Fixed by |\n|---|---|---|---|---|---|\n"
    } else {
        "\n| | Rule | What | Native | Fixed by |\n|---|---|---|---|---|\n"
    });
    for result in shown {
        let rule = result.rule;
        out.append(match shown_verdict(result) {
            Verdict::Fail => "| :x: | [",
            Verdict::Warn => "| :warning: | [",
            Verdict::Pass | Verdict::Skip | Verdict::Inconclusive => "| :grey_question: | [",
        });
        out.append(rule.id);
        out.append("](");
        out.append(SPEC);
        out.append(rule.spec);
        out.append(") | ");
        push_prose(out, rule.title);
        out.append(" | ");
        out.append(result.native.verdict.name());
        if has_wrapped {
            out.append(" | ");
            out.append(result.wrapped.as_ref().map_or("", |wrapped| wrapped.verdict.name()));
        }
        out.append(" | ");
        out.append(fixed_by(result));
        out.append(" |\n");
    }
}

/// Who mends it, in the words of the table.
fn fixed_by(result: &RuleResult) -> &'static str {
    let fails_wrapped = result.wrapped.as_ref().is_some_and(|w| w.verdict == Verdict::Fail);
    match result.native.late {
        Some(Late::Start) => return "a longer --start-timeout",
        Some(Late::Answer) => return "a longer --timeout",
        Some(Late::Handshake) | None => {}
    }
    match (result.native.verdict.is_finding(), result.owner) {
        (true, Owner::Sdk) => "SDK upgrade",
        (true, Owner::Server) => "your code",
        (true, Owner::Unknown) => "SDK upgrade or your code",
        (false, _) if fails_wrapped => "mcp-uplift (a bug)",
        (false, _) => "",
    }
}

/// What to do, one item for each rule, as long as there is room.
fn push_details(out: &mut String, shown: &[&RuleResult], limit: usize) {
    out.append("\n<details><summary>How to fix</summary>\n\n");
    for (index, result) in shown.iter().enumerate() {
        let item = item(result);
        if out.len() + item.len() > limit {
            out.append("- and ");
            out.append(&(shown.len() - index).to_string());
            out.append(" more that do not fit here\n");
            break;
        }
        out.append(&item);
    }
    out.append("\n</details>\n");
}

/// One rule with all that is known.
fn item(result: &RuleResult) -> String {
    let mut out = String::from("- **");
    out.append(result.rule.id);
    out.append("** ");
    push_prose(&mut out, result.rule.title);
    let native = &result.native;
    if native.verdict.is_finding() {
        push_part(&mut out, "found", &native.found);
        push_part(&mut out, "expected", result.rule.expected);
        push_part(&mut out, "fix", &result.fix);
    } else if native.verdict == Verdict::Inconclusive {
        push_part(&mut out, "not judged", &native.found);
    }
    push_part(&mut out, "wrapped", &wrapped_note(result));
    out.append("\n");
    out
}

/// A line inside an item, if there is something to say.
fn push_part(out: &mut String, label: &str, text: &str) {
    if !text.is_empty() {
        out.append("<br>\n  ");
        out.append(label);
        out.append(": ");
        push_prose(out, text);
    }
}

/// What follows the rules: what changes, and how to run it.
fn tail(report: &Report) -> String {
    let mut out = String::new();
    if !report.changes.is_empty() {
        out.append("\nChanges when wrapped:\n\n");
    }
    for change in &report.changes {
        out.append("- `");
        out.append(change.id);
        out.append("` ");
        let mut text = String::from(change.text);
        push_because(&mut text, &change.because);
        push_prose(&mut out, &text);
        out.append("\n");
    }
    let command = command(&report.command);
    if report.verdict == Overall::ReadyWhenWrapped && command.len() < LONG_COMMAND {
        out.append("\nRun it as: ");
        push_code(&mut out, &["mcp-uplift -- ", &command].concat());
        out.append("\n");
    }
    out
}

/// Appends a command as code. In a code span nothing can be escaped, so what could end it is written
/// as prose.
fn push_code(out: &mut String, text: &str) {
    if text.contains('`') {
        push_prose(out, text);
    } else {
        out.append("`");
        out.append(text);
        out.append("`");
    }
}

/// Appends a text so that none of it is taken for Markdown, word by word.
///
/// Sites look for people, numbers and links after all escapes are gone, but not in code: a word that
/// might be one is made code, which suits the names of packages as well.
fn push_prose(out: &mut String, text: &str) {
    for (index, word) in text.split_whitespace().enumerate() {
        if index > 0 {
            out.append(" ");
        }
        let is_reference = |mark| word.contains(mark);
        if word.contains(['@', '#']) || ["://", "www.", "GH-"].into_iter().any(is_reference) {
            out.append("<code>");
            push_word(out, word);
            out.append("</code>");
        } else {
            push_word(out, word);
        }
    }
}

fn push_word(out: &mut String, word: &str) {
    for c in word.chars() {
        match c {
            '<' => out.append("&lt;"),
            '>' => out.append("&gt;"),
            '&' => out.append("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '@' | '~' | '#' | ':' | '$' => {
                out.append("\\");
                out.push(c);
            }
            // Nothing is clean enough for a place where it would be obeyed.
            c if is_unsafe(c) => {}
            c => out.push(c),
        }
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "tests")]
mod tests {
    use super::super::text::tests::{outcome, sample};
    use super::*;

    fn rows(text: &str) -> Vec<&str> {
        text.lines().filter(|line| line.starts_with("| ") && line.contains("](https://")).collect()
    }

    fn bars(row: &str) -> usize {
        row.matches('|').count() - row.matches("\\|").count()
    }

    #[test]
    fn findings_are_rows_and_items() {
        let expected = r"### MCP 2026-07-28 readiness: ready when wrapped
`node server.js`, era legacy, 1 error (1 SDK), 1 warning, 1 not judged, 2.4 s

judged by 5 of 26 rules (--only)

| | Rule | What | Native | Wrapped | Fixed by |
|---|---|---|---|---|---|
| :x: | [MCP001](https://modelcontextprotocol.io/specification/2026-07-28/server/discover) | server/discover does not work | fail | pass | SDK upgrade |
| :grey_question: | [MCP007](https://modelcontextprotocol.io/specification/2026-07-28/server/discover) | logging/setLevel works | inconclusive | pass |  |
| :warning: | [MCP018](https://modelcontextprotocol.io/specification/2026-07-28/server/discover) | results do not name the server | warn | pass | SDK upgrade |

<details><summary>How to fix</summary>
";
        let mut report = sample();
        report.notes.push("judged by 5 of 26 rules (--only)".to_owned());
        let text = print(&report);
        assert!(text.starts_with(expected), "{text}");
        for part in [
            "\n- **MCP001** server/discover does not work<br>\n  found: error -32601 \"Méthod not found\"<br>\n  expected: a DiscoverResult that lists 2026-07-28<br>\n  fix: move from <code>\\@modelcontextprotocol/sdk</code> 1.x to ",
            "\n- **MCP007** logging/setLevel works<br>\n  not judged: no answer in 5 s\n",
            "\n</details>\n\nChanges when wrapped:\n\n- `serial-calls` tool calls run one at a time (tools)\n",
            "\n\nRun it as: `mcp-uplift -- node server.js`\n",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn the_second_column_is_left_out_where_it_was_not_run() {
        let mut report = sample();
        report.is_wrapped_run = false;
        report.verdict = Overall::NotReady;
        for result in &mut report.results {
            result.wrapped = None;
            result.owner = Owner::Unknown;
        }
        let text = print(&report);
        assert!(text.contains("1 error (1 unknown), "), "{text}");
        assert_eq!(rows(&text).len(), 3);
        assert!(rows(&text).iter().all(|row| bars(row) == 6), "{text}");
        assert!(!text.contains("Run it as"));
    }

    #[test]
    fn what_fails_only_when_wrapped_is_ours() {
        let mut report = sample();
        report.results[1].wrapped = Some(outcome(Verdict::Fail, "no answer"));
        let text = print(&report);
        assert_eq!(rows(&text).len(), 4);
        assert!(text.contains("| pass | fail | mcp-uplift (a bug) |\n"), "{text}");
        assert!(text.contains("<br>\n  wrapped: no answer - a bug of mcp-uplift"), "{text}");
    }

    #[test]
    fn nothing_of_a_server_is_markdown() {
        let bad = "`tick` <img src=x> @all | a\n# heading\r\n\u{1b}[2J \u{202e} #12 (www.x.y GH-1 http://x &amp; **b** [l](u) \\";
        let mut report = sample();
        report.command = vec!["`a`".to_owned(), "@b/c".to_owned()];
        for result in &mut report.results {
            result.native.found = bad.to_owned();
        }
        let text = print(&report);
        let expected = "found: \\`tick\\` &lt;img src=x&gt; <code>\\@all</code> \\| a \
                        <code>\\#</code> heading \\[2J  <code>\\#12</code> <code>(www.x.y</code> <code>GH-1</code> \
                        <code>http\\://x</code> &amp;amp; \\*\\*b\\*\\* \\[l\\](u) \\\\<br>\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("\n'\\`a\\`' <code>\\@b/c</code>, era"), "{text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\r']));
        assert!(rows(&text).iter().all(|row| bars(row) == 7), "{text}");
    }

    #[test]
    fn a_comment_takes_it() {
        let mut report = sample();
        for n in 0..200 {
            let mut result = report.results[0].clone();
            result.native.found = "@ ".repeat(100) + &n.to_string();
            report.results.push(result);
        }
        let text = print(&report);
        assert!(text.len() < LIMIT, "{}", text.len());
        assert!(text.contains(" more that do not fit here\n\n</details>\n\nChanges"), "{text}");
    }

    #[test]
    fn a_reason_is_all_there_is_when_unreachable() {
        let mut report = sample();
        report.verdict = Overall::Unreachable;
        report.reason = "the process ended: <x>".to_owned();
        report.results.clear();
        report.changes.clear();
        let expected = "### MCP 2026-07-28 readiness: unreachable\n`node server.js`, the process \
                        ended\\: &lt;x&gt;\n";
        assert_eq!(print(&report), expected);
    }
}
