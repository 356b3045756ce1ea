//! Which variables the wrapped server sees.
//!
//! Not all: a server that somebody downloaded has no business with the tokens in our environment.
//! The list holds what programs need to run at all, and what package launchers (npx, uvx, pip)
//! need behind a proxy. Of their own settings only paths are in it: `NPM_CONFIG_*`, `UV_*` and
//! `PIP_*` at large hold registry tokens and addresses with passwords.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Passed on when set, in groups as `--help` shows them; a name that ends in `*` is a prefix.
pub(super) const PASSED: &[&[&str]] = &[
    &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TERM", "TZ", "TMPDIR", "XDG_*"],
    &["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"],
    &["http_proxy", "https_proxy", "no_proxy", "all_proxy"],
    &["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"],
    &["CURL_CA_BUNDLE", "NPM_CONFIG_CACHE", "NPM_CONFIG_PREFIX", "NPM_CONFIG_USERCONFIG"],
    &["npm_config_cache", "npm_config_prefix", "npm_config_userconfig"],
    &["UV_CACHE_DIR", "UV_CONFIG_FILE", "PIP_CACHE_DIR", "PIP_CONFIG_FILE"],
];

/// An `--env`.
pub(super) struct Given {
    name: OsString,
    /// None: ours.
    value: Option<OsString>,
}

impl Given {
    /// Reads `NAME` or `NAME=VALUE`.
    #[allow(
        clippy::indexing_slicing,
        reason = "the place is that of a byte in it, and an empty name was seen first"
    )]
    pub(super) fn parse(word: &OsStr) -> Option<Self> {
        let bytes = word.as_bytes();
        let equals = bytes.iter().position(|byte| *byte == b'=');
        let (name, value) = match equals {
            Some(at) => (&bytes[..at], Some(OsStr::from_bytes(&bytes[at + 1..]).to_owned())),
            None => (bytes, None),
        };
        // A dash at the start is an option in the wrong place.
        if name.is_empty() || name[0] == b'-' || bytes.contains(&0) {
            return None;
        }
        Some(Given { name: OsStr::from_bytes(name).to_owned(), value })
    }
}

/// The child's environment; or the name of a variable that was to be passed on and is not set.
pub(super) fn for_child(
    ours: &[(OsString, OsString)],
    all: bool,
    given: &[Given],
) -> Result<Vec<(OsString, OsString)>, OsString> {
    let mut env: Vec<_> = ours.iter().filter(|(name, _)| all || is_passed(name)).cloned().collect();
    for Given { name, value } in given {
        let ours = || ours.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone());
        let value = value.clone().or_else(ours).ok_or_else(|| name.clone())?;
        env.retain(|(other, _)| other != name);
        env.push((name.clone(), value));
    }
    Ok(env)
}

/// What the given variables say in the child's environment; those that say nothing are left out.
pub(super) fn values(env: &[(OsString, OsString)], given: &[Given]) -> Vec<String> {
    let is_given = |name: &OsString| given.iter().any(|given| given.name == *name);
    let said = env.iter().filter(|(name, value)| !value.is_empty() && is_given(name));
    said.map(|(_, value)| value.to_string_lossy().into_owned()).collect()
}

fn is_passed(name: &OsStr) -> bool {
    let name = name.as_bytes();
    PASSED.iter().copied().flatten().any(|passed| match passed.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix.as_bytes()),
        None => name == passed.as_bytes(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(all: bool, given: &[&str], expected: Result<&[&str], &str>) {
        let ours: Vec<(OsString, OsString)> = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("XDG_CACHE_HOME", "/c"),
            ("LCX", "no"),
            ("https_proxy", "p"),
            ("GITHUB_TOKEN", "secret"),
            ("NPM_CONFIG__AUTH", "secret"),
            ("NPM_CONFIG_CACHE", "/n"),
            ("UV_INDEX_URL", "https://user:secret@host"),
            ("path", "no"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .into();
        let given: Vec<Given> =
            given.iter().map(|word| Given::parse(OsStr::new(word)).unwrap()).collect();
        let got = for_child(&ours, all, &given);
        let shown = got.map(|env| {
            let pair = |(n, v): &(OsString, OsString)| format!("{}={}", n.display(), v.display());
            env.iter().map(pair).collect::<Vec<_>>()
        });
        let expected = expected
            .map(|env| env.iter().map(|&pair| pair.to_owned()).collect::<Vec<_>>())
            .map_err(OsString::from);
        assert_eq!(shown, expected);
    }

    #[test]
    fn only_what_is_listed_or_asked_for() {
        let base = ["PATH=/bin", "LC_ALL=C", "XDG_CACHE_HOME=/c", "https_proxy=p"];
        let listed = [&base[..], &["NPM_CONFIG_CACHE=/n"]].concat();
        check(false, &[], Ok(&listed));
        let with = |more: &[&'static str]| [&listed[..], more].concat();
        check(false, &["GITHUB_TOKEN"], Ok(&with(&["GITHUB_TOKEN=secret"])));
        check(false, &["A=b=c", "B="], Ok(&with(&["A=b=c", "B="])));
        check(false, &["A=1", "A=2"], Ok(&with(&["A=2"])));
        check(false, &["NOT_SET"], Err("NOT_SET"));
    }

    #[test]
    fn everything_with_inherit_and_given_wins() {
        check(
            true,
            &["PATH=/mine"],
            Ok(&[
                "LC_ALL=C",
                "XDG_CACHE_HOME=/c",
                "LCX=no",
                "https_proxy=p",
                "GITHUB_TOKEN=secret",
                "NPM_CONFIG__AUTH=secret",
                "NPM_CONFIG_CACHE=/n",
                "UV_INDEX_URL=https://user:secret@host",
                "path=no",
                "PATH=/mine",
            ]),
        );
    }

    #[test]
    fn what_is_no_variable() {
        for word in ["", "=", "=secret", "--", "-x", "--quiet=1", "A\0=b", "A=b\0"] {
            assert!(Given::parse(OsStr::new(word)).is_none(), "{word:?}");
        }
    }
}
