//! `--list-rules`: every rule there is, also those that only HTTP has.

use std::iter;

use super::json::{next, put};
use crate::check::rules;

/// Is there a rule of this id, in capitals?
#[must_use]
pub fn is_known(id: &str) -> bool {
    rules::find(id).is_some() || rules::HTTP_ONLY.iter().any(|(known, _)| *known == id)
}

struct Row {
    id: &'static str,
    /// "" where it has none.
    level: &'static str,
    is_stdio: bool,
    title: &'static str,
}

/// All rules, in the order of their ids.
fn rows() -> Vec<Row> {
    let mut http = rules::HTTP_ONLY.iter().peekable();
    let http_row = |&(id, title)| Row { id, level: "", is_stdio: false, title };
    let mut rows = Vec::with_capacity(32);
    for rule in rules::all() {
        rows.extend(iter::from_fn(|| http.next_if(|(id, _)| *id < rule.id)).map(http_row));
        rows.push(Row { id: rule.id, level: rule.level.name(), is_stdio: true, title: rule.title });
    }
    rows.extend(http.map(http_row));
    rows
}

/// The list for people.
#[must_use]
pub fn text() -> String {
    let mut out = "id     level   stdio title\n".to_owned();
    for row in rows() {
        let level = if row.level.is_empty() { "-" } else { row.level };
        push_cell(&mut out, row.id, 7);
        push_cell(&mut out, level, 8);
        push_cell(&mut out, if row.is_stdio { "yes" } else { "no" }, 6);
        out.push_str(row.title);
        out.push('\n');
    }
    out
}

fn push_cell(out: &mut String, text: &str, width: usize) {
    out.push_str(text);
    out.extend(iter::repeat_n(' ', width.saturating_sub(text.len())));
}

/// The list for programs.
#[must_use]
pub fn json() -> String {
    let mut out = r#"{"schemaVersion":1,"rules":["#.to_owned();
    for row in rows() {
        put(next(&mut out), r#"{"id":"#, row.id);
        if row.level.is_empty() {
            out.push_str(r#","level":null"#);
        } else {
            put(&mut out, r#","level":"#, row.level);
        }
        out.push_str(if row.is_stdio { r#","stdio":true"# } else { r#","stdio":false"# });
        put(&mut out, r#","title":"#, row.title);
        out.push('}');
    }
    out.push_str("]}\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn every_rule_once_in_order() {
        let doc: Value = serde_json::from_str(&json()).unwrap();
        let ids: Vec<&str> = doc["rules"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|rule| rule["id"].as_str())
            .collect();
        assert!(ids.is_sorted());
        assert_eq!(ids.len(), rules::all().len() + rules::HTTP_ONLY.len());
        let shown: Vec<String> = text().lines().skip(1).map(|line| line[..6].to_owned()).collect();
        assert_eq!(shown, ids);
        assert_eq!(doc["rules"][0]["stdio"], json!(true));
        let http = json!({"id": "MCP003", "level": null, "stdio": false,
            "title": rules::HTTP_ONLY[0].1});
        assert_eq!(doc["rules"][2], http);
    }

    #[test]
    fn the_text_fits() {
        for line in text().lines() {
            assert!(line.len() <= 80 && line.is_ascii(), "{line}");
        }
        assert!(text().contains("\nMCP003 -       no    the "));
    }
}
