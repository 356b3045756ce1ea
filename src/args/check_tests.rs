use std::fs;
use std::iter;
use std::os::unix::ffi::OsStringExt;

use super::*;
use crate::check::options::{Call, FailOn, Format, Options as CheckOptions, Wrapped};

fn read(words: &[&str]) -> Result<Request, UsageError> {
    let variables = [("PATH", "/bin"), ("TOKEN", "s3cret"), ("EMPTY", "")];
    let words = ["check"].iter().chain(words).map(OsString::from);
    parse(words, &variables.map(|(name, value)| (name.into(), value.into())))
}

fn options(words: &[&str]) -> CheckOptions {
    match read(words) {
        Ok(Request::Check(options)) => *options,
        other => panic!("{words:?}: {other:?}"),
    }
}

#[test]
fn the_command_is_taken_word_for_word() {
    for (words, program, args) in [
        (&["cat"][..], "cat", &[][..]),
        (&["--", "cat"], "cat", &[]),
        (&["cat", "--format", "json", "--"], "cat", &["--format", "json", "--"]),
        (&["--format=json", "--", "-x", "--", "y"], "-x", &["--", "y"]),
        (&["check", "x"], "check", &["x"]),
        (&["--", "check"], "check", &[]),
    ] {
        let launch = options(words).launch;
        assert_eq!(launch.program, program, "{words:?}");
        assert_eq!(launch.args, args, "{words:?}");
    }
}

#[test]
fn nothing_said() {
    let plain = options(&["cat"]);
    assert_eq!((plain.wishes.format, plain.wishes.fail_on), (Format::Text, FailOn::Error));
    assert_eq!(plain.wishes.wrapped, Wrapped::IfNeeded);
    assert_eq!(
        (plain.wishes.timeout_ms, plain.wishes.start_timeout_ms, plain.wishes.budget_ms),
        (5000, 10_000, 60_000)
    );
    assert_eq!((plain.wishes.output, plain.wishes.anchor), (None, None));
    assert!(
        plain.wishes.only.is_empty()
            && plain.wishes.skip.is_empty()
            && plain.wishes.calls.is_empty()
    );
    assert!(!plain.wishes.accept_wrapped && !plain.wishes.verbose && plain.wishes.may_color);
    assert!(plain.secrets.is_empty());
    assert_eq!(plain.launch.env, [("PATH".into(), "/bin".into()),]);
    assert_eq!(plain.launch.cwd, None);
}

#[test]
fn flags_reach_their_places() {
    let all = options(&[
        "--format=sarif",
        "--output",
        "out.sarif",
        "--anchor=src/server.js",
        "--only=mcp001,Rdy101",
        "--only",
        "MCP003",
        "--skip= MCP002 ,RDY112",
        "--fail-on=never",
        "--accept-wrapped",
        "--native-only",
        "--call=add={\"a\": 1}",
        "--call",
        "a.b={}",
        "--timeout=7",
        "--start-timeout=2s",
        "--budget=3m",
        "--env=TOKEN",
        "--env=KEY=v=1",
        "--env=KEY=v=2",
        "--env=EMPTY",
        "--inherit-env",
        "--cwd=/somewhere",
        "--no-color",
        "-v",
        "cat",
    ]);
    assert_eq!((all.wishes.format, all.wishes.fail_on), (Format::Sarif, FailOn::Never));
    assert_eq!(
        (all.wishes.output, all.wishes.anchor),
        (Some("out.sarif".into()), Some("src/server.js".into()))
    );
    assert_eq!(all.wishes.only, ["MCP001", "RDY101", "MCP003"]);
    assert_eq!(all.wishes.skip, ["MCP002", "RDY112"]);
    assert_eq!(all.wishes.wrapped, Wrapped::Never);
    assert_eq!(
        (all.wishes.timeout_ms, all.wishes.start_timeout_ms, all.wishes.budget_ms),
        (7, 2_000, 180_000)
    );
    assert!(all.wishes.accept_wrapped && all.wishes.verbose && !all.wishes.may_color);
    let call = |name: &str, arguments: &str| Call {
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    };
    assert_eq!(all.wishes.calls, [call("add", "{\"a\": 1}"), call("a.b", "{}")]);
    assert_eq!(all.secrets, ["s3cret", "v=2"]);
    assert_eq!(all.launch.cwd, Some("/somewhere".into()));
    assert!(all.launch.env.contains(&("TOKEN".into(), "s3cret".into())));
    for (word, expected) in [("--wrapped", Wrapped::Always), ("--native-only", Wrapped::Never)] {
        assert_eq!(options(&[word, "cat"]).wishes.wrapped, expected);
    }
    for (word, expected) in
        [("text", Format::Text), ("json", Format::Json), ("markdown", Format::Markdown)]
    {
        assert_eq!(options(&["--format", word, "cat"]).wishes.format, expected);
    }
    for (word, expected) in [("error", FailOn::Error), ("warning", FailOn::Warning)] {
        assert_eq!(options(&["--fail-on", word, "cat"]).wishes.fail_on, expected);
    }
}

#[test]
fn arguments_from_a_file_are_one_line() {
    let file = env::temp_dir().join(format!("mcp-uplift-arguments-{}", std::process::id()));
    fs::write(&file, "{\r\n  \"a\": \"x\\ny\"\n}\n").unwrap();
    let options = options(&["--call", &format!("add=@{}", file.display()), "cat"]);
    fs::remove_file(&file).unwrap();
    assert_eq!(options.wishes.calls[0].arguments, "{    \"a\": \"x\\ny\" }");
}

#[test]
fn wrong_usage_says_what_was_expected() {
    for (words, expected) in [
        (&[][..], "expected a command: mcp-uplift check"),
        (&["--"], "expected a command"),
        (&["--only=MCP001", ""], "expected a command"),
        (&["--only=MCP999", "cat"], "--only: no rule 'MCP999'; --list-rules names them"),
        (&["--only=", "cat"], "--only: no rule ''"),
        (&["--skip=MCP001,,MCP002", "cat"], "--skip: no rule ''"),
        (&["--format=xml", "cat"], "--format: expected text, json, sarif or markdown, got 'xml'"),
        (&["--fail-on=maybe", "cat"], "--fail-on: expected error, warning or never"),
        (&["--call=add", "cat"], "--call: expected NAME=JSON or NAME=@FILE"),
        (&["--call=={}", "cat"], "--call: expected NAME=JSON"),
        (&["--call=add={\"a\":\"s3cret\"", "cat"], "--call: expected a JSON object"),
        (&["--call=add=[\"s3cret\"]", "cat"], "--call: expected a JSON object"),
        (&["--call=add=", "cat"], "--call: expected a JSON object"),
        (&["--call=add=@/no/such/file", "cat"], "--call: cannot read '/no/such/file': "),
        (&["--timeout=0", "cat"], "--timeout: expected at least 1"),
        (&["--timeout=soon", "cat"], "--timeout: expected a time such as"),
        (&["--budget"], "--budget: expected a value: TIME"),
        (&["--output=", "cat"], "--output: expected a file"),
        (&["--anchor=", "cat"], "--anchor: expected a file"),
        (&["--wrapped", "--native-only", "cat"], "--wrapped: not together with --native-only"),
        (&["--env=UNSET", "cat"], "--env: 'UNSET' is not set here"),
        (&["--wrapped=s3cret", "cat"], "--wrapped takes no value"),
        (&["--nativ-only", "cat"], "did you mean '--native-only'?"),
        (&["--onyl=MCP001", "cat"], "no option '--onyl'; did you mean '--only'?"),
        (&["--zzz", "cat"], "no option '--zzz'; check --help lists them"),
        (&["--parallel=2", "cat"], "no option '--parallel'"),
        (&["-q", "cat"], "no option '-q'; check --help lists them"),
    ] {
        let text = match read(words) {
            Err(UsageError(text)) => text,
            other => panic!("{words:?}: {other:?}"),
        };
        assert!(text.contains(expected), "{words:?}: {text}");
        assert!(!text.contains("s3cret"), "{words:?}: {text}");
        assert!(!text.contains('\n'), "{words:?}: {text}");
    }
}

#[test]
fn what_needs_no_command() {
    for (words, json) in [
        (&["--list-rules"][..], false),
        (&["--list-rules", "--format=json"], true),
        (&["--format", "json", "--list-rules", "cat"], true),
        (&["--list-rules", "--format=markdown"], false),
    ] {
        let request = read(words);
        let Ok(Request::ListRules { is_json }) = request else { panic!("{words:?}: {request:?}") };
        assert_eq!(is_json, json, "{words:?}");
    }
    for words in [&["--help"][..], &["-h", "--zzz"], &["-vh", "cat"]] {
        assert!(matches!(read(words), Ok(Request::CheckHelp)), "{words:?}");
    }
}

/// All sequences of up to three nasty words: whatever comes, it is an answer and no panic.
#[test]
fn nasty_words_in_every_order() {
    let mut nasty: Vec<OsString> = [
        "",
        "-",
        "--",
        "---",
        "=",
        "-v",
        "-vx",
        "--only",
        "--only=,",
        "MCP001",
        "--call",
        "--call=",
        "--call=a={}",
        "--call==@",
        "a=@",
        "--format",
        "json",
        "--timeout",
        "1s",
        "--wrapped",
        "--native-only",
        "--list-rules",
        "--env=A",
        "--env",
        "check",
        "cat",
        "\n",
        "--help",
    ]
    .map(OsString::from)
    .into();
    nasty.extend(
        [vec![0xff], b"--only=\xff".into(), b"--call=a\xff={}".into()].map(OsString::from_vec),
    );
    let check = |words: &[&OsString]| {
        let words = iter::once(OsString::from("check")).chain(words.iter().copied().cloned());
        if let Err(UsageError(text)) = parse(words, &[]) {
            assert!(!text.is_empty());
        }
    };
    for a in &nasty {
        check(&[a]);
        for b in &nasty {
            check(&[a, b]);
            for c in &nasty {
                check(&[a, b, c]);
            }
        }
    }
}

#[test]
fn help_fits_and_shows_all() {
    let text = check_help();
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
        assert_eq!(line, line.trim_end());
    }
    for flag in CHECK.flags {
        assert!(text.contains(&format!("--{}", flag.name)), "{}", flag.name);
    }
    for part in ["[5s]", "[10s]", "[1m]", "[text]", "[error]", "LC_*", "--list-rules"] {
        assert!(text.contains(part), "{part}");
    }
}
