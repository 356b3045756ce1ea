use std::os::unix::ffi::OsStringExt;

use super::bridge::BRIDGE;
use super::*;
use crate::bridge::{Limits, ServerEra};

fn variables() -> Vec<(OsString, OsString)> {
    [("PATH", "/bin"), ("TOKEN", "s3cret")].map(|(n, v)| (n.into(), v.into())).into()
}

fn options(words: &[&str]) -> Options {
    match parse(words.iter().map(OsString::from), &variables()) {
        Ok(Request::Run(options)) => *options,
        other => panic!("{words:?}: {other:?}"),
    }
}

fn refused(words: &[&str]) -> String {
    match parse(words.iter().map(OsString::from), &variables()) {
        Err(UsageError(text)) => text,
        other => panic!("{words:?}: {other:?}"),
    }
}

#[test]
fn the_command_is_taken_word_for_word() {
    for (words, program, args) in [
        (&["cat"][..], "cat", &[][..]),
        (&["--", "cat"], "cat", &[]),
        (&["cat", "-n", "--help", "--"], "cat", &["-n", "--help", "--"]),
        (&["--", "cat", "--", "-x", "", "--env=A"], "cat", &["--", "-x", "", "--env=A"]),
        (&["cat", "--", "x"], "cat", &["--", "x"]),
        (&["-q", "--", "-odd"], "-odd", &[]),
        (&["-q", "--", "--"], "--", &[]),
        (&["--", "check", "x"], "check", &["x"]),
        (&["cat", "check"], "cat", &["check"]),
        (&["-"], "-", &[]),
    ] {
        let launch = options(words).launch;
        assert_eq!(launch.program, program, "{words:?}");
        assert_eq!(launch.args, args, "{words:?}");
    }
    let odd = OsString::from_vec(vec![b'a', 0xff, b'b']);
    let words = [OsString::from("--"), odd.clone(), odd.clone()];
    let Ok(Request::Run(options)) = parse(words, &[]) else { panic!() };
    assert_eq!((options.launch.program, options.launch.args), (odd.clone(), vec![odd]));
}

#[test]
fn flags_reach_their_places() {
    let Options { settings, launch, verbosity } = options(&[
        "--max-line-bytes=1KiB",
        "--max-buffer-bytes",
        "2MiB",
        "--max-in-flight=3",
        "--max-subscriptions=0",
        "--max-subscription-uris=5",
        "--mrtr-ttl-ms=6s",
        "--request-timeout-ms=7",
        "--max-request-ms=8m",
        "--initialize-timeout-ms=9",
        "--shutdown-grace-ms=0",
        "--cache-ttl-ms=1h",
        "--parallel=12",
        "--hold-lane",
        "--protocol-version=2026-07-28",
        "--root=/",
        "--root",
        "/usr/../usr",
        "--env=TOKEN",
        "--env",
        "A=b",
        "--cwd=/somewhere",
        "-vv",
        "--",
        "/opt/x/server",
    ]);
    let limits = Limits {
        line_bytes: 1024,
        buffer_bytes: 2 << 20,
        in_flight: 3,
        subscriptions: 0,
        subscription_uris: 5,
        mrtr_ttl_ms: 6_000,
        request_timeout_ms: 7,
        request_max_ms: 480_000,
        initialize_timeout_ms: 9,
        shutdown_grace_ms: 0,
        cache_ttl_ms: 3_600_000,
        parallel: 12,
    };
    assert_eq!(settings.limits, limits);
    assert!(settings.hold_lane);
    assert_eq!(settings.server_era, ServerEra::Modern);
    assert_eq!(settings.roots, ["/", "/usr"]);
    assert_eq!(settings.command_name, "server");
    assert_eq!(launch.cwd, Some("/somewhere".into()));
    assert!(launch.env.contains(&("TOKEN".into(), "s3cret".into())));
    assert!(launch.env.contains(&("A".into(), "b".into())));
    assert_eq!(verbosity, Verbosity::Frames);

    let plain = options(&["cat"]);
    assert_eq!(plain.settings.limits, Limits::default());
    assert_eq!(plain.launch.env, [("PATH".into(), "/bin".into())]);
    assert_eq!(plain.verbosity, Verbosity::Normal);
    for (word, expected) in [("-q", Verbosity::Quiet), ("-v", Verbosity::Lifecycle)] {
        assert_eq!(options(&[word, "cat"]).verbosity, expected);
    }
}

#[test]
fn a_relative_root_becomes_absolute() {
    let here = env::current_dir().unwrap();
    assert_eq!(
        options(&["--root=src", "cat"]).settings.roots,
        [here.join("src").to_str().unwrap()]
    );
    assert_eq!(options(&["--root=.", "cat"]).settings.roots, [here.to_str().unwrap()]);
}

#[test]
fn wrong_usage_says_what_was_expected() {
    for (words, expected) in [
        (&[][..], "expected a command"),
        (&["--"], "expected a command"),
        (&[""], "expected a command"),
        (&["-q", "check", "cat"], "'check' goes before its options"),
        (&["--call", "add={}", "check", "cat"], "'--call' is an option of 'mcp-uplift check'"),
        (&["--only=MCP001", "--", "cat"], "'--only' is an option of 'mcp-uplift check'"),
        (&["--quite", "cat"], "did you mean '--quiet'?"),
        (&["--parallell=2", "cat"], "did you mean '--parallel'?"),
        (&["--max-line", "1", "cat"], "did you mean '--max-line-bytes'?"),
        (&["--max-request", "1", "cat"], "did you mean '--max-request-ms'?"),
        (&["--inherit-environment", "cat"], "no option '--inherit-environment'"),
        (&["--zzz", "cat"], "no option '--zzz'; --help lists them"),
        (&["-x", "cat"], "no option '-x'"),
        (&["--max-line-bytes"], "--max-line-bytes: expected a value: SIZE"),
        (&["--max-line-bytes=x", "cat"], "expected a size such as"),
        (&["--max-line-bytes=0", "cat"], "expected at least 1"),
        (&["--max-line-bytes=-5", "cat"], "expected a size such as"),
        (&["--parallel=99999999999", "cat"], "is too large"),
        (&["--request-timeout-ms", "--", "cat"], "expected a time such as"),
        (&["--protocol-version=2025-11-25", "cat"], "expected auto, legacy or 2026-07-28"),
        (&["--root=/no/such/place", "cat"], "expected an existing directory"),
        (
            &["--env=UNSET", "cat"],
            "--env: 'UNSET' is not set here; set it or write --env UNSET=VALUE",
        ),
        (&["--env", "--", "cat"], "--env: expected NAME or NAME=VALUE"),
        (&["--cwd=", "cat"], "--cwd: expected a directory"),
        (&["--hold-lane=s3cret", "cat"], "--hold-lane takes no value"),
        (&["--envv=A=s3cret", "cat"], "did you mean '--env'?"),
        (&["--env==s3cret", "cat"], "expected NAME or NAME=VALUE"),
        (&["--env=UNSET", "--env=A=s3cret", "cat"], "'UNSET'"),
        (&["-q=s3cret", "cat"], "takes no value"),
    ] {
        let text = refused(words);
        assert!(text.contains(expected), "{words:?}: {text}");
        assert!(!text.contains("s3cret"), "{words:?}: {text}");
        assert!(!text.contains('\n'), "{words:?}: {text}");
    }
}

#[test]
fn help_and_version_win_when_they_come_first() {
    for (words, help) in [
        (&["--help"][..], true),
        (&["-h", "cat"], true),
        (&["-qh"], true),
        (&["-q", "--help", "--zzz"], true),
        (&["--version"], false),
        (&["-V"], false),
    ] {
        let request = parse(words.iter().map(OsString::from), &[]).unwrap();
        assert_eq!(matches!(request, Request::Help), help, "{words:?}");
        assert_eq!(matches!(request, Request::Version), !help, "{words:?}");
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
        "--=",
        "-=",
        "=",
        "-q",
        "-qv",
        "-qx",
        "-v=",
        "--env",
        "--env=",
        "--env=A",
        "--env=A=b",
        "--parallel",
        "--parallel=",
        "--parallel=1",
        "1MiB",
        "--cwd",
        "--root",
        "--max",
        "--hold-lane",
        "--hold-lane=",
        "check",
        "cat",
        "ä",
        "-ä",
        "--ä",
        "\n",
        "-\0",
        "--help",
    ]
    .map(OsString::from)
    .into();
    nasty.extend(
        [vec![0xff], vec![b'-', 0xff], vec![b'-', b'-', 0xff, b'=', 0xfe]].map(OsString::from_vec),
    );
    let check = |words: &[&OsString]| {
        if let Err(UsageError(text)) = parse(words.iter().map(|&word| word.clone()), &variables()) {
            assert!(!text.is_empty() && !text.contains("s3cret"));
        }
    };
    check(&[]);
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
    let text = help();
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
        assert_eq!(line, line.trim_end());
    }
    for flag in BRIDGE.flags {
        assert!(text.contains(&format!("--{}", flag.name)), "{}", flag.name);
    }
    for part in
        ["mcp-uplift check", "[16MiB]", "[64MiB]", "[5m]", "[1500ms]", "[0]", "LC_*", "https_proxy"]
    {
        assert!(text.contains(part), "{part}");
    }
}
