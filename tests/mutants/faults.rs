//! The list of faults: a name, where, what stands there, and what is put in its place.
//!
//! ```text
//! lane-order: D6, sim
//! src/bridge/lane.rs
//! - self.line.push_back(chain);
//! + self.line.push_front(chain);
//! ```
//! Several `-` or `+` lines are one fragment. It must stand in its file exactly once.

use std::path::Path;

/// Who has to catch a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Player {
    /// The simulation.
    Sim,
    /// The simulation or, if it does not, the cases.
    Cases,
}

#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) name: String,
    /// What it breaks.
    pub(crate) rules: String,
    pub(crate) player: Player,
    /// Below the root.
    pub(crate) path: String,
    from: String,
    to: String,
}

pub(crate) fn load(path: &Path) -> Result<Vec<Fault>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let entries = text.split("\n\n").map(str::trim).filter(|entry| !entry.is_empty());
    entries
        .filter(|entry| !entry.lines().all(|line| line.starts_with('#')))
        .map(|entry| read(entry).ok_or_else(|| format!("{}: no fault: {entry}", path.display())))
        .collect()
}

fn read(entry: &str) -> Option<Fault> {
    let (head, body) = entry.split_once('\n')?;
    let (name, rest) = head.split_once(": ")?;
    let (rules, player) = rest.rsplit_once(", ")?;
    let (path, changes) = body.split_once('\n')?;
    let player = match player {
        "sim" => Player::Sim,
        "cases" => Player::Cases,
        _ => return None,
    };
    let lines = |sign| {
        let lines = changes.lines().filter_map(move |line| line.strip_prefix(sign));
        let lines: Vec<_> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
        lines.join("\n")
    };
    let fault = Fault {
        name: name.into(),
        rules: rules.into(),
        player,
        path: path.into(),
        from: lines('-'),
        to: lines('+'),
    };
    (!fault.from.is_empty() && fault.from != fault.to).then_some(fault)
}

impl Fault {
    /// The file's text as it is, and with the fault.
    pub(crate) fn apply(&self, root: &Path) -> Result<(String, String), String> {
        let path = root.join(&self.path);
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", self.path))?;
        match text.matches(&self.from).count() {
            1 => {
                let changed = text.replacen(&self.from, &self.to, 1);
                Ok((text, changed))
            }
            count => Err(format!(
                "{}: stands {count} times in {}, must once:\n{}",
                self.name, self.path, self.from
            )),
        }
    }
}
