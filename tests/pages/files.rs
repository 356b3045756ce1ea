//! What stands in `share/`, made of the tables of options.
//!
//! ```text
//!  args::pages ──▶ man                 the page
//!       └──▶ Value ──▶ bash, zsh, fish  the completions
//! ```

mod bash;
mod fish;
mod man;
mod zsh;

use mcp_uplift::args::pages::{self, Row};
use mcp_uplift::check::rules;

/// Each file by its name below `share/`.
pub(crate) fn all() -> [(&'static str, String); 4] {
    [
        ("man/mcp-uplift.1", man::page()),
        ("completions/mcp-uplift.bash", bash::script()),
        ("completions/_mcp-uplift", zsh::script()),
        ("completions/mcp-uplift.fish", fish::script()),
    ]
}

/// What can stand for the value of an option.
#[derive(PartialEq, Eq)]
pub(crate) enum Value {
    /// It takes none.
    None,
    /// One of these words.
    Words(Vec<&'static str>),
    /// Ids of rules, with commas.
    Rules,
    /// A directory.
    Folder,
    /// A file.
    File,
    /// A variable of the environment.
    Variable,
    /// Nobody can guess it.
    Free,
}

/// Goes by what the value is called. Words to choose from stand at the end of the explanation.
pub(crate) fn value(row: &Row) -> Value {
    match row.value {
        "" => Value::None,
        "ERA" | "FORM" | "LEVEL" => {
            let words = row.help.rsplit(": ").next().unwrap_or_default();
            Value::Words(words.split(", ").flat_map(|word| word.split(" or ")).collect())
        }
        "IDS" => Value::Rules,
        "DIR" | "PATH" => Value::Folder,
        "FILE" => Value::File,
        "NAME[=VALUE]" => Value::Variable,
        _ => Value::Free,
    }
}

/// Whether it may be given more than once.
pub(crate) fn is_repeatable(row: &Row) -> bool {
    row.help.contains("(repeatable)") || row.help.contains("-vv")
}

/// Whether nothing but its own text is printed, so that nothing else can stand with it.
pub(crate) fn stands_alone(row: &Row) -> bool {
    matches!(row.name, "help" | "version")
}

/// The explanation for a list of completions, which shows the option itself.
fn hint(row: &Row) -> String {
    row.help.replace(" (repeatable)", "")
}

/// The ids and titles of the rules that can be chosen.
fn rule_titles() -> impl Iterator<Item = (&'static str, &'static str)> {
    rules::all().iter().map(|rule| (rule.id, rule.title))
}

/// `-q` and `--quiet`.
fn spellings(row: &Row) -> Vec<String> {
    let short = row.short.map(|letter| format!("-{letter}"));
    short.into_iter().chain([format!("--{}", row.name)]).collect()
}

/// Those spellings that the next word belongs to.
fn valued(rows: &[Row]) -> Vec<String> {
    rows.iter().filter(|row| !row.value.is_empty()).flat_map(spellings).collect()
}

/// What `check` does, as the first word.
const CHECK: &str = "see how far a server is from 2026-07-28";
