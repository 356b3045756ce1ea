//! The command line (R): any words are a request or one clear line, and what is taken is in bounds.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use mcp_uplift::args::{Options, Request, UsageError, parse};
use mcp_uplift::bridge::{Limits, ServerEra};
use mcp_uplift::shell::Verbosity;

use super::rng::Rng;
use super::words::garbled;
use super::{Target, Verdict};

pub(crate) const TARGET: Target = Target { name: "options", seeds: 25_000, generate, check };

/// Words are kept apart by what no word can hold.
const END: u8 = 0;
const MOST: u64 = 1 << 40;
const MOST_COUNT: u64 = 1_000_000;
/// Units by their end, the longest first.
const SIZES: [(&str, u64); 7] = [
    ("gib", 1 << 30),
    ("mib", 1 << 20),
    ("kib", 1 << 10),
    ("gb", 1_000_000_000),
    ("mb", 1_000_000),
    ("kb", 1_000),
    ("b", 1),
];
const TIMES: [(&str, u64); 4] = [("ms", 1), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
/// Numbers: the flag, its units, its least value, and where it is found afterwards.
type Number = (&'static str, &'static [(&'static str, u64)], u64, fn(&Limits) -> u64);

#[rustfmt::skip]
const NUMBERS: [Number; 12] = [
    ("max-line-bytes", &SIZES, 1, |limits| wide(limits.line_bytes)),
    ("max-buffer-bytes", &SIZES, 1, |limits| wide(limits.buffer_bytes)),
    ("max-in-flight", &[], 1, |limits| wide(limits.in_flight)),
    ("max-subscriptions", &[], 0, |limits| wide(limits.subscriptions)),
    ("max-subscription-uris", &[], 0, |limits| wide(limits.subscription_uris)),
    ("mrtr-ttl-ms", &TIMES, 1, |limits| limits.mrtr_ttl_ms),
    ("request-timeout-ms", &TIMES, 1, |limits| limits.request_timeout_ms),
    ("max-request-ms", &TIMES, 1, |limits| limits.request_max_ms),
    ("initialize-timeout-ms", &TIMES, 1, |limits| limits.initialize_timeout_ms),
    ("shutdown-grace-ms", &TIMES, 0, |limits| limits.shutdown_grace_ms),
    ("cache-ttl-ms", &TIMES, 0, |limits| limits.cache_ttl_ms),
    ("parallel", &[], 1, |limits| wide(limits.parallel)),
];
const WORDS: [&str; 35] = [
    "",
    "-",
    "--",
    "---",
    "=",
    "--=",
    "-q",
    "-v",
    "-vv",
    "-qv",
    "-x",
    "-q=1",
    "--quiet",
    "--verbose",
    "--help",
    "-h",
    "--version",
    "-V",
    "--hold-lane",
    "--hold-lane=1",
    "--inherit-env",
    "--no-new-privs",
    "--env",
    "--env=A",
    "--env=PATH",
    "--env=B=c",
    "--root=/",
    "--root=/no",
    "--cwd=/x",
    "--cwd=",
    "--protocol-version=legacy",
    "--protocol-version=2026-07-28",
    "--protocol-version=x",
    "check",
    "--parallell=2",
];
const VALUES: [&str; 22] = [
    "0",
    "1",
    "00",
    "1000000",
    "1000001",
    "1099511627776",
    "1099511627777",
    "18446744073709551616",
    "1024GiB",
    "1025GiB",
    "1mib",
    "7B",
    "5s",
    "2m",
    "1h",
    "10ms",
    "9999999h",
    "-1",
    "+1",
    "1.5",
    "",
    " 1",
];

fn wide(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}

fn generate(rng: &mut Rng) -> Vec<u8> {
    let mut words: Vec<String> = Vec::new();
    for _ in 0..rng.below(6) {
        match rng.below(10) {
            0..6 => {
                let (flag, ..) = rng.pick(&NUMBERS);
                let number = rng.next() >> rng.range(20, 63);
                let unit = rng.pick(&["", "", "ms", "s", "KiB", "MB", "h", "x"]);
                let value = if rng.chance(50) {
                    (*rng.pick(&VALUES)).into()
                } else {
                    format!("{number}{unit}")
                };
                words.push(format!("--{flag}"));
                if rng.chance(50) {
                    words.push(value);
                } else if let Some(word) = words.last_mut() {
                    *word += &format!("={value}");
                }
            }
            _ => words.push((*rng.pick(&WORDS)).into()),
        }
    }
    if rng.chance(85) {
        words.extend(["--".to_owned(), "/bin/server".to_owned()]);
        words.extend((0..rng.below(3)).map(|_| (*rng.pick(&WORDS)).to_owned()));
    }
    let bytes = words.join("\0").into_bytes();
    if rng.chance(30) { garbled(rng, bytes) } else { bytes }
}

fn check(_: &mut Rng, bytes: &[u8]) -> Verdict {
    let words: Vec<OsString> =
        bytes.split(|byte| *byte == END).map(|word| OsString::from_vec(word.to_vec())).collect();
    let variables =
        [("PATH", "/bin"), ("SECRET", "s3cret")].map(|(name, value)| (name.into(), value.into()));
    match parse(words.clone(), &variables) {
        Ok(
            Request::Help
            | Request::Version
            | Request::Check(_)
            | Request::CheckHelp
            | Request::ListRules { .. },
        ) => Ok(()),
        Err(UsageError(text)) => {
            is_clear(&words, &text)?;
            // What a plain reader takes for right must not be refused.
            if plain(&words).is_some() { Err(format!("R refused: {text}")) } else { Ok(()) }
        }
        Ok(Request::Run(options)) => {
            in_bounds(&options)?;
            tail(&words, &options)?;
            if let Some(expected) = plain(&words)
                && expected != options.settings.limits
            {
                return Err(format!("R {:?}, expected {expected:?}", options.settings.limits));
            }
            round_trip(&options, &variables)
        }
    }
}

/// One line that begins in lower case and names what is wrong. Controls in it are escaped when it
/// is written; an escape would only tell the same word twice.
fn is_clear(words: &[OsString], text: &str) -> Verdict {
    let is_lower = text
        .chars()
        .find(|c| c.is_alphabetic())
        .is_none_or(|c| !c.is_uppercase() || is_word(words, text));
    let names =
        text.starts_with("expected a command") || text.starts_with("'check'") || text.contains('-');
    let is_one_line =
        !text.contains('\n') || words.iter().any(|word| word.as_bytes().contains(&b'\n'));
    if is_lower && names && is_one_line && !text.contains("s3cret") {
        Ok(())
    } else {
        Err(format!("R unclear: {text:?}"))
    }
}

/// Is the first letter one of a word that is only repeated?
fn is_word(words: &[OsString], text: &str) -> bool {
    text.starts_with("no option")
        || words.iter().any(|word| !word.is_empty() && text.starts_with(&*word.to_string_lossy()))
}

fn in_bounds(options: &Options) -> Verdict {
    for (flag, units, least, read) in &NUMBERS {
        let value = read(&options.settings.limits);
        let most = if units.is_empty() { MOST_COUNT } else { MOST };
        if value < *least || value > most {
            return Err(format!("R --{flag} is {value}"));
        }
    }
    if options.launch.program.is_empty() { Err("R no command".into()) } else { Ok(()) }
}

/// The command and what follows are the last words, one for one.
fn tail(words: &[OsString], options: &Options) -> Verdict {
    let launch = &options.launch;
    let start = words.len().checked_sub(launch.args.len() + 1);
    let fits = start
        .is_some_and(|start| words[start] == launch.program && words[start + 1..] == launch.args);
    if fits { Ok(()) } else { Err(format!("R runs {launch:?}")) }
}

/// Reads what needs no cleverness: numbers, and options without a value. `None` for all else.
fn plain(words: &[OsString]) -> Option<Limits> {
    let mut limits = Limits::default();
    let mut words = words.iter().map(|word| word.to_str());
    loop {
        let word = words.next()??;
        let Some(option) = word.strip_prefix("--") else {
            match word {
                "-q" | "-v" | "-vv" | "-qv" => continue,
                "" | "check" => return None,
                _ => return (!word.starts_with('-')).then_some(limits),
            }
        };
        if option.is_empty() {
            return words.next()?.filter(|program| !program.is_empty()).map(|_| limits);
        }
        if ["quiet", "verbose", "hold-lane", "inherit-env", "no-new-privs"].contains(&option) {
            continue;
        }
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, value),
            None => (option, words.next()??),
        };
        let (_, units, least, read) = NUMBERS.iter().find(|(flag, ..)| *flag == name)?;
        let value = value_of(value, units).filter(|value| value >= least)?;
        set(&mut limits, *read, value);
    }
}

fn value_of(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.to_lowercase();
    let unit = units.iter().find(|(unit, _)| text.ends_with(unit)).unwrap_or(&("", 1));
    let digits = &text[..text.len() - unit.0.len()];
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let value = digits.parse::<u128>().ok().filter(|_| is_plain)? * u128::from(unit.1);
    let most = if units.is_empty() { MOST_COUNT } else { MOST };
    u64::try_from(value).ok().filter(|value| *value <= most)
}

/// Sets the field that `read` reads: the one of all that changes what it gives.
fn set(limits: &mut Limits, read: fn(&Limits) -> u64, value: u64) {
    let size = usize::try_from(value).unwrap_or(usize::MAX);
    let fields: [fn(&mut Limits, usize, u64); 12] = [
        |l, size, _| l.line_bytes = size,
        |l, size, _| l.buffer_bytes = size,
        |l, size, _| l.in_flight = size,
        |l, size, _| l.subscriptions = size,
        |l, size, _| l.subscription_uris = size,
        |l, _, time| l.mrtr_ttl_ms = time,
        |l, _, time| l.request_timeout_ms = time,
        |l, _, time| l.request_max_ms = time,
        |l, _, time| l.initialize_timeout_ms = time,
        |l, _, time| l.shutdown_grace_ms = time,
        |l, _, time| l.cache_ttl_ms = time,
        |l, size, _| l.parallel = size,
    ];
    for field in fields {
        let mut probe = Limits::default();
        field(&mut probe, usize::MAX, u64::MAX);
        if read(&probe) == u64::MAX {
            field(limits, size, value);
        }
    }
}

/// What was understood, written out again, is understood alike.
fn round_trip(options: &Options, variables: &[(OsString, OsString)]) -> Verdict {
    let (settings, launch) = (&options.settings, &options.launch);
    let mut words: Vec<OsString> = NUMBERS
        .iter()
        .map(|(flag, _, _, read)| format!("--{flag}={}", read(&settings.limits)).into())
        .collect();
    words.extend(settings.roots.iter().map(|root| format!("--root={root}").into()));
    words.extend(settings.hold_lane.then(|| "--hold-lane".into()));
    words.extend(launch.no_new_privs.then(|| "--no-new-privs".into()));
    let era = match settings.server_era {
        ServerEra::Auto => "auto",
        ServerEra::Legacy => "legacy",
        ServerEra::Modern => "2026-07-28",
    };
    words.push(format!("--protocol-version={era}").into());
    words.extend(match options.verbosity {
        Verbosity::Normal => None,
        Verbosity::Quiet => Some("-q".into()),
        Verbosity::Lifecycle => Some("-v".into()),
        Verbosity::Frames => Some("-vv".into()),
    });
    for (name, value) in &launch.env {
        let word = [b"--env=", name.as_bytes(), b"=", value.as_bytes()].concat();
        words.push(OsString::from_vec(word));
    }
    if let Some(cwd) = &launch.cwd {
        words.extend(["--cwd".into(), cwd.clone().into_os_string()]);
    }
    words.push("--".into());
    words.push(launch.program.clone());
    words.extend(launch.args.iter().cloned());
    let Ok(Request::Run(again)) = parse(words.clone(), variables) else {
        return Err(format!("R not understood any more: {words:?}"));
    };
    let [was, is] =
        [options, &again].map(|o| format!("{:?} {:?} {:?}", o.settings, o.launch, o.verbosity));
    match was.bytes().zip(is.bytes()).position(|(a, b)| a != b) {
        None if was.len() == is.len() => Ok(()),
        first => {
            // The words around the first difference: all of it is a page.
            let at = first.unwrap_or_else(|| was.len().min(is.len())).saturating_sub(40);
            let [was, is] =
                [was, is].map(|text| text.chars().skip(at).take(80).collect::<String>());
            Err(format!(
                "R written out by round_trip and read again: ...{is}...\nexpected ...{was}...\n\
                 a flag that round_trip does not write out?"
            ))
        }
    }
}
