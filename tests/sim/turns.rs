//! Whose turn it is, and whether it is taken.
//!
//! A run is made of acts: the client's, and those of each server process, each counted from 0. An
//! act that is not taken does nothing, but listens and lets the same time pass. So a run with fewer
//! acts is again a run that could happen: whoever answers, answers what was asked in this one.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// One act: of the client (0), or of the server process with this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Act {
    pub(crate) actor: u32,
    pub(crate) number: u64,
}

/// The present act, for whoever acts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) number: u64,
    pub(crate) is_taken: bool,
}

/// The acts that are taken; all, where nothing is said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns(Option<BTreeSet<Act>>);

impl Turns {
    pub(crate) fn only(acts: impl IntoIterator<Item = Act>) -> Self {
        Turns(Some(acts.into_iter().collect()))
    }

    /// Are some acts left out?
    pub(crate) fn is_reduced(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn takes(&self, act: Act) -> bool {
        self.0.as_ref().is_none_or(|acts| acts.contains(&act))
    }

    /// Will this actor do anything more, this act included?
    pub(crate) fn goes_on(&self, act: Act) -> bool {
        let last = Act { number: u64::MAX, ..act };
        self.0.as_ref().is_none_or(|acts| acts.range(act..=last).next().is_some())
    }
}

/// `c3` or `s1.7`.
impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.actor {
            0 => write!(f, "c{}", self.number),
            process => write!(f, "s{process}.{}", self.number),
        }
    }
}

impl FromStr for Act {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            if let Some(number) = text.strip_prefix('c') {
                return Some(Act { actor: 0, number: number.parse().ok()? });
            }
            let (process, number) = text.strip_prefix('s')?.split_once('.')?;
            Some(Act { actor: process.parse().ok()?, number: number.parse().ok()? })
        };
        parse().ok_or_else(|| format!("{text}: no act; they look like c3 and s1.7"))
    }
}

/// `c0,c3,s1.7`
impl FromStr for Turns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let acts: Result<Vec<Act>, _> = text.split(',').map(str::parse).collect();
        acts.map(Turns::only)
    }
}
