//! The man page and the completions say what the tables of options say.

#![allow(clippy::unwrap_used, reason = "what is unwrapped stands in the repository")]

#[path = "pages/files.rs"]
mod files;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use files::Value;
use mcp_uplift::args::pages::{self, Row};
use mcp_uplift::args::{self, UsageError};

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("share").join(name)
}

#[test]
fn files_are_what_the_tables_make() {
    for (name, made) in files::all() {
        let kept = fs::read_to_string(place(name)).unwrap_or_default();
        assert!(kept == made, "share/{name} is out of date: run make pages");
    }
}

/// The part of a file that is about the bridge, and the part that is about `check`.
fn parts(name: &str, text: &str) -> [String; 2] {
    if let Some((_, rest)) = text.split_once(".SH OPTIONS\n") {
        let (bridge, check) = rest.split_once(".SH CHECK OPTIONS\n").unwrap();
        return [bridge, check.split(".SH ").next().unwrap()].map(|part| part.replace('\\', ""));
    }
    // A list to choose from for each; in zsh that of `check` comes first, indented as deep.
    let lines = |is_its: &dyn Fn(&str) -> bool| {
        text.lines().filter(|line| is_its(line)).collect::<Vec<_>>().join("\n")
    };
    match name.rsplit(['.', '/']).next().unwrap() {
        "bash" => {
            ["    local options=", "        options="].map(|head| lines(&|l| l.starts_with(head)))
        }
        "fish" => ["bridge", "check"].map(|table| lines(&|l| l.contains(&format!("in {table}' ")))),
        _ => {
            let mut lists = text.split("    options=(\n").skip(1);
            let mut next = || lists.next().unwrap().split("\n    )").next().unwrap().to_owned();
            let check = next();
            [next(), check]
        }
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '-')).collect()
}

#[test]
fn every_option_is_in_each_file() {
    for (name, text) in files::all() {
        let [bridge, check] = parts(name, &text);
        for (part, rows) in [(bridge, pages::bridge()), (check, pages::check())] {
            // fB and fR are the fonts of the man page, without their backslashes.
            let part = part.replace("fB", " ").replace("fR", " ");
            let is_fish = name.ends_with("fish");
            let shown = words(&part);
            for row in rows {
                let long = format!("--{}", row.name);
                let after = |dash: &str, word: &str| {
                    shown.windows(2).any(|pair| pair[0] == dash && pair[1] == word)
                };
                let has_long =
                    if is_fish { after("-l", row.name) } else { shown.contains(&&*long) };
                assert!(has_long, "share/{name} lacks {long}");
                if let Some(letter) = row.short {
                    let letter = letter.to_string();
                    let dashed = format!("-{letter}");
                    let has =
                        if is_fish { after("-s", &letter) } else { shown.contains(&&*dashed) };
                    assert!(has, "share/{name} lacks {dashed} of {long}");
                }
            }
        }
    }
}

/// What the completions offer as a value is what the program takes, all of it.
#[test]
fn offered_words_are_those_that_are_taken() {
    let refused = |table: &[&str], row: &Row, word: &str| {
        let option = format!("--{}={word}", row.name);
        let all = table.iter().copied().chain([&*option, "cat"]).map(OsString::from);
        args::parse(all, &[]).err().map(|UsageError(text)| text)
    };
    let mut count = 0;
    for (table, rows) in [(&[][..], pages::bridge()), (&["check"][..], pages::check())] {
        for row in rows {
            let Value::Words(words) = files::value(&row) else {
                continue;
            };
            count += 1;
            for word in &words {
                assert_eq!(refused(table, &row, word), None, "--{} {word}", row.name);
            }
            let (last, others) = words.split_last().unwrap();
            let expected = format!("expected {} or {last}, got", others.join(", "));
            let text = refused(table, &row, "zzz").unwrap();
            assert!(text.contains(&expected), "{text}");
        }
    }
    assert_eq!(count, 3, "--protocol-version, --format and --fail-on");
}

/// Says of an option whether it may be repeated, and whether it stands alone, as the table does.
#[test]
fn what_is_repeated_or_alone() {
    let names = |is_it: fn(&Row) -> bool| {
        let all = pages::bridge().into_iter().chain(pages::check());
        all.filter(is_it).map(|row| row.name).collect::<Vec<_>>()
    };
    let repeatable = ["env", "root", "verbose", "env", "only", "skip", "call"];
    assert_eq!(names(files::is_repeatable), repeatable);
    assert_eq!(names(files::stands_alone), ["help", "version", "help"]);
}

/// What these shells offer at the end of a line, if they are here: with it, and without it.
#[test]
fn what_bash_and_fish_offer() {
    for (line, offered, is_offered) in [
        ("mcp-uplift ch", "check", true),
        ("mcp-uplift -q ch", "check", false),
        ("mcp-uplift --hol", "--hold-lane", true),
        ("mcp-uplift check --f", "--format", true),
        ("mcp-uplift --f", "--format", false),
        ("mcp-uplift check --format j", "json", true),
        ("mcp-uplift check --format=j", "json", true),
        ("mcp-uplift --protocol-version l", "legacy", true),
        ("mcp-uplift check --only MCP001,RDY11", "MCP001,RDY112", true),
        ("mcp-uplift check --skip=MCP001,RDY11", "MCP001,RDY112", true),
        ("mcp-uplift --env PAT", "PATH", true),
        ("mcp-uplift --env A=b --env=A=b:c --hol", "--hold-lane", true),
        ("mcp-uplift --parallel 2 -q -- tru", "true", true),
        ("mcp-uplift -- true --hol", "--hold-lane", false),
        ("mcp-uplift true --hol", "--hold-lane", false),
        ("mcp-uplift check true --f", "--format", false),
    ] {
        for (shell, said) in [("bash", ask_bash(line)), ("fish", ask_fish(line))] {
            let Some(said) = said else { continue };
            // fish repeats the option before an equals sign, and adds what the words mean.
            let mut words = said.lines().map(|line| line.split('\t').next().unwrap());
            let has = words.any(|word| word.rsplit('=').next() == Some(offered));
            assert_eq!(has, is_offered, "{shell}: {line}: {said}");
        }
    }
    for (line, how) in [
        ("mcp-uplift --cwd s", "dirnames"),
        ("mcp-uplift --root=s", "dirnames"),
        ("mcp-uplift check --output s", "default"),
        ("mcp-uplift -- cat s", "default"),
        ("mcp-uplift --parallel ", ""),
    ] {
        if let Some(said) = ask_bash(line) {
            assert_eq!(said.trim().trim_start_matches("compopt -o "), how, "{line}: {said}");
        }
    }
}

/// Calls the function as readline does; how it wants files to be completed is printed as well.
fn ask_bash(line: &str) -> Option<String> {
    let script = r#"compopt() { echo "compopt $*"; }
        . "$1"
        COMP_LINE=$2 COMP_POINT=${#2}
        shift 2
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _mcp_uplift
        printf '%s\n' "${COMPREPLY[@]}""#;
    let mut asked = at_home("bash");
    asked.args(["--norc", "-c", script, "bash"]).arg(place("completions/mcp-uplift.bash"));
    asked.arg(line);
    for word in line.split(' ') {
        // Its breaks are words of their own.
        let parts = word.split_inclusive(['=', ':']).flat_map(|part| {
            let bare = part.trim_end_matches(['=', ':']);
            [bare, &part[bare.len()..]]
        });
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        asked.args(if parts.is_empty() { vec![""] } else { parts });
    }
    output(&mut asked)
}

fn ask_fish(line: &str) -> Option<String> {
    let script = "source $argv[1]; complete -C $argv[2]";
    let mut asked = at_home("fish");
    output(asked.args(["-c", script]).arg(place("completions/mcp-uplift.fish")).arg(line))
}

/// A program that neither finds nor leaves anything in the home of whoever runs the tests.
fn at_home(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("HOME", env!("CARGO_TARGET_TMPDIR"));
    for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"] {
        command.env_remove(name);
    }
    command
}

/// None if there is no such program.
fn output(asked: &mut Command) -> Option<String> {
    let done = asked.output().ok()?;
    Some(String::from_utf8(done.stdout).unwrap())
}

/// Those that are to be found here have nothing to say about the files.
#[test]
fn their_readers_take_them() {
    let [man, bash, zsh, fish] = files::all().map(|(name, _)| place(name));
    for (program, options, file) in [
        ("mandoc", &["-Tlint"][..], &man),
        ("groff", &["-man", "-ww", "-Tascii", "-P-cbou"], &man),
        ("bash", &["-n"], &bash),
        ("zsh", &["-n"], &zsh),
        ("fish", &["-n"], &fish),
    ] {
        let Ok(done) = at_home(program).args(options).arg(file).output() else {
            continue; // not here
        };
        let said = String::from_utf8_lossy(&done.stderr);
        let out = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && said.is_empty(), "{program}: {said}{out}");
        if program == "groff" {
            assert!(out.contains("--max-subscription-uris"), "{out}");
        }
    }
}
