//! `cases.tsv`: what is expected of each mode.

use std::collections::BTreeMap;

/// Ids of all rules for stdio.
pub(crate) const IDS: [&str; 26] = [
    "MCP001", "MCP002", "MCP004", "MCP005", "MCP006", "MCP007", "MCP008", "MCP009", "MCP011",
    "MCP012", "MCP013", "MCP015", "MCP017", "MCP018", "RDY101", "RDY102", "RDY103", "RDY104",
    "RDY105", "RDY106", "RDY107", "RDY108", "RDY109", "RDY110", "RDY111", "RDY112",
];

/// A row.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) mode: &'static str,
    pub(crate) flags: Vec<&'static str>,
    pub(crate) native: &'static str,
    /// `*`: not run.
    pub(crate) wrapped: &'static str,
    pub(crate) exit: i32,
    pub(crate) base: &'static str,
    /// By rule the letters that are right; empty where there are no rules.
    pub(crate) letters: BTreeMap<&'static str, &'static str>,
}

type Letters = Vec<(&'static str, &'static str)>;

/// All rows.
pub(crate) fn load() -> Result<Vec<Case>, String> {
    let text = include_str!("cases.tsv");
    let mut bases: BTreeMap<&str, Letters> = BTreeMap::new();
    let mut cases = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        match *cells.as_slice() {
            [name, letters] if name.starts_with('=') => {
                bases.insert(name.trim_start_matches('='), read(letters)?);
            }
            [mode, flags, native, wrapped, exit, base, differences] => {
                let own = bases.get(base).ok_or_else(|| format!("{mode}: no base {base}"))?;
                let mut letters = BTreeMap::new();
                if base != "nothing" {
                    letters.extend(IDS.map(|id| (id, "P")));
                    letters.extend(own.iter().copied());
                    letters.extend(read(differences)?);
                }
                let flags = flags.split(' ').filter(|flag| *flag != "-").collect();
                let exit = exit.parse().map_err(|_| format!("{mode}: exit {exit}"))?;
                cases.push(Case { mode, flags, native, wrapped, exit, base, letters });
            }
            _ => return Err(format!("cases.tsv: {line}")),
        }
    }
    Ok(cases)
}

/// `MCP001=F RDY110=P/I`, or `-`.
fn read(letters: &'static str) -> Result<Letters, String> {
    let one = |word: &'static str| {
        let (id, letter) = word.split_once('=').ok_or_else(|| format!("cases.tsv: {word}"))?;
        if IDS.contains(&id) { Ok((id, letter)) } else { Err(format!("cases.tsv: no rule {id}")) }
    };
    letters.split(' ').filter(|word| *word != "-").map(one).collect()
}
