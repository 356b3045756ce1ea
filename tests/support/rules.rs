//! The rules of the contract, which of them the program keeps so far, and the cases that hold it to
//! them.

use std::path::Path;

use super::case::Case;

pub(crate) struct Rules {
    /// The rule's name, and `yes`, `later` or `choice` (a silence of the protocol, and what we made
    /// of it).
    rows: Vec<(String, String)>,
    /// Cases of what is not delivered yet, by id: these may fail.
    later: Vec<String>,
}

impl Rules {
    pub(crate) fn load() -> Result<Rules, String> {
        let table = read("rules.tsv")?;
        let later = read("later.txt")?.lines().map(str::to_owned).collect();
        let mut rows = Vec::new();
        for line in table.lines().skip(1) {
            match line.split('\t').collect::<Vec<_>>()[..] {
                [id, delivered @ ("yes" | "later" | "choice"), _title] => {
                    rows.push((id.to_owned(), delivered.to_owned()));
                }
                _ => return Err(format!("tests/rules.tsv: {line}")),
            }
        }
        Ok(Rules { rows, later })
    }

    pub(crate) fn is_later(&self, case: &Case) -> bool {
        self.later.contains(&case.id)
    }

    /// Complains of a delivered rule without a case, and of a case that names a rule nobody knows.
    /// What is not delivered yet and has no case is told as well.
    pub(crate) fn check(&self, cases: &[Case]) -> Result<String, String> {
        let known = |name: &String| self.rows.iter().any(|(id, _)| id == name);
        for case in cases {
            if let Some(unknown) = case.rules.iter().find(|name| !known(name)) {
                return Err(format!("{} names {unknown}, which is no rule", case.id));
            }
        }
        let exists = |id: &String| cases.iter().any(|case| case.id == *id);
        if let Some(unknown) = self.later.iter().find(|id| !exists(id)) {
            return Err(format!("tests/later.txt names {unknown}, which is no case"));
        }
        let missing = self.without_case("yes", cases);
        if !missing.is_empty() {
            return Err(format!("delivered and without a case: {missing}"));
        }
        let (later, choices) =
            (self.without_case("later", cases), self.without_case("choice", cases));
        Ok(format!("without a case, not delivered: {later}; choices: {choices}"))
    }

    fn without_case(&self, state: &str, cases: &[Case]) -> String {
        let has_case = |id: &String| cases.iter().any(|case| case.rules.contains(id));
        let bare = self.rows.iter().filter(|(id, of)| of == state && !has_case(id));
        bare.map(|(id, _)| id.as_str()).collect::<Vec<_>>().join(" ")
    }
}

fn read(name: &str) -> Result<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))
}
