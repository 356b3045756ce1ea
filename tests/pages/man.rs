//! The man page. What options do comes from the tables, the rest stands here.

use std::fmt::Write;

use super::{Row, Value, pages, value};

/// When the words below were last changed.
const DATE: &str = "2026-11-30";

const HEAD: &str = r#".SH NAME
mcp\-uplift \- serve a legacy stdio MCP server to MCP 2026\-07\-28 clients
.SH SYNOPSIS
.nf
.B mcp\-uplift \fR[\fIOPTIONS\fR]\fB \-\- \fICOMMAND\fR [\fIARGS\fR...]
.B mcp\-uplift \fICOMMAND\fR [\fIARGS\fR...]
.B mcp\-uplift check \fR[\fICHECK\-OPTIONS\fR] [\fB\-\-\fR] \fICOMMAND\fR [\fIARGS\fR...]
.B mcp\-uplift check \-\-list\-rules \fR[\fB\-\-format json\fR]
.fi
.SH DESCRIPTION
MCP 2026\-07\-28 has no handshake, no sessions and no requests from server to client.
Servers written for the revisions before it need all three.
.B mcp\-uplift
starts such a server, \fICOMMAND\fR, and serves it, unchanged, to clients of the new revision over
stdin and stdout.
Clients that are older themselves, and servers that are newer, keep working behind the same command:
two ends of the same era are passed through.
Only a legacy client in front of a server that speaks nothing but 2026\-07\-28 is refused.
.PP
When its input ends, it answers what it has accepted, ends the server and exits.
.PP
.B mcp\-uplift check
starts a server several times, asks it what a client of 2026\-07\-28 would ask, and says what breaks,
who has to mend it, and whether wrapping is enough.
It calls no tool unless one is named.
.PP
Everything after \fICOMMAND\fR, or after \fB\-\-\fR, belongs to the command line of the server.
"#;

const OPTIONS: &str = r#".SH OPTIONS
Sizes are written as 65536, 64KiB, 16MiB, 1GiB or 1MB; times as 500 or 500ms, 30s, 2m or 1h.
"#;

const CHECK_OPTIONS: &str = r#".SH CHECK OPTIONS
These stand after the word
.BR check .
"#;

const ENVIRONMENT: &str = r#".SH ENVIRONMENT
The server does not see all variables, only these when they are set, and what
.B \-\-env
or
.B \-\-inherit\-env
passes on; the value of a variable is never printed.
.PP
"#;

const TAIL: &str = r#".PP
.B mcp\-uplift check
prints no colour when
.B NO_COLOR
is set or
.B TERM
is
.IR dumb .
.SH EXIT STATUS
.TP
.B 0
The client closed the connection, and got every answer that it still read.
.TP
.B 1
The server was asked and never completed a handshake, it ended under a legacy client, or stdin or stdout failed.
.TP
.B 2
Wrong usage, or the command could not be started.
.TP
.B 128+N
Ended by signal N.
.SS Of a check
.TP
.B 0
Ready; with
.B \-\-accept\-wrapped
also when wrapped.
.TP
.B 1
There are findings at or above
.BR \-\-fail\-on .
.TP
.B 2
Wrong usage, or the command could not be started or never answered.
.TP
.B 3
A fault of the check itself.
.TP
.B 130
Interrupted.
.SH EXAMPLES
Serve the filesystem server:
.PP
.RS 4
.EX
mcp\-uplift \-\- npx \-y @modelcontextprotocol/server\-filesystem .
.EE
.RE
.PP
Pass a token on that the server needs:
.PP
.RS 4
.EX
mcp\-uplift \-\-env SEARCH_API_KEY \-\- npx \-y some\-search\-server
.EE
.RE
.PP
Show every message on stderr, shortened:
.PP
.RS 4
.EX
mcp\-uplift \-vv \-\- node server.js
.EE
.RE
.PP
Check a server, with a call of a tool that may run more than once:
.PP
.RS 4
.EX
mcp\-uplift check \-\-call \(aqecho={"text":"hi"}\(aq \-\- node server.js
.EE
.RE
.PP
Judge two rules only, for code scanning:
.PP
.RS 4
.EX
mcp\-uplift check \-\-only MCP001,RDY101 \-\-format sarif \-\- node server.js
.EE
.RE
.SH SEE ALSO
README.md, docs/check.md (every rule), docs/protocol.md (what becomes of each message),
docs/limits.md (every bound) and SECURITY.md in the sources.
.PP
The protocol is that of the
.UR https://modelcontextprotocol.io/specification/2026\-07\-28/
specification of 2026\-07\-28
.UE
"#;

/// The page in the macros of `man`.
pub(super) fn page() -> String {
    let version = plain(env!("CARGO_PKG_VERSION"));
    let mut page = format!(
        ".\\\" Made of the tables of options by `make pages`: change those, or tests/pages/man.rs.\n\
         .TH MCP\\-UPLIFT 1 {DATE} \"mcp\\-uplift {version}\"\n.nh\n.ad l\n{HEAD}{OPTIONS}"
    );
    push_options(&mut page, &pages::bridge());
    page += CHECK_OPTIONS;
    push_options(&mut page, &pages::check());
    page += ENVIRONMENT;
    page += &plain(&pages::passed().join(" "));
    page.push('\n');
    page += TAIL;
    page.lines().map(broken).collect()
}

/// Text in lines of 80 at most; a formatter fills them anew. A macro's line has to stay one.
fn broken(line: &str) -> String {
    let (mut text, mut column) = (String::new(), 0);
    for (index, word) in line.split(' ').enumerate() {
        if index > 0 && column + 1 + word.len() > 80 && !line.starts_with('.') {
            text.push('\n');
            column = 0;
        } else if index > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += word.len();
    }
    text.push('\n');
    text
}

fn push_options(page: &mut String, rows: &[Row]) {
    let mut group = "";
    for row in rows {
        if row.group != group {
            group = row.group;
            let _ = writeln!(page, ".SS {}", plain(group));
        }
        page.push_str(".TP\n");
        if let Some(letter) = row.short {
            let _ = write!(page, "\\fB\\-{letter}\\fR, ");
        }
        let _ = write!(page, "\\fB\\-\\-{}\\fR", plain(row.name));
        if !row.value.is_empty() {
            let _ = write!(page, " \\fI{}\\fR", plain(row.value));
        }
        // Words to type stay as they are.
        let is_words = matches!(value(row), Value::Words(words) if row.help.starts_with(words[0]));
        let help = if is_words { row.help.to_owned() } else { capital(row.help) };
        let _ = writeln!(page, "\n{}.", plain(&help));
        if !row.default.is_empty() {
            let _ = writeln!(page, "Default: {}.", plain(&row.default));
        }
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Without meaning for the formatter; dashes stay what they are, so that options can be copied.
fn plain(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    // At the start of a line a dot is a macro.
    if text.starts_with('.') { format!("\\&{text}") } else { text }
}
