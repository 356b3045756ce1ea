//! What is kept of a large answer: its small members, and of the large ones their beginnings, so that
//! each still is what it was: an object, an array with items or without, a string.

use crate::message::list::array;
use crate::message::object::Object;
use crate::message::writer::Writer;

/// Bytes of an answer that are kept.
pub(super) const MOST_KEPT: usize = 64 << 10;

/// A member of no more bytes is kept before any larger one, wherever it stands.
const SMALL: usize = 1 << 10;

/// An answer, or as much of it as is kept.
pub(super) fn excerpt(raw: String) -> String {
    if raw.len() <= MOST_KEPT {
        return raw;
    }
    let mut out = String::new();
    push(&mut out, &raw, MOST_KEPT);
    out
}

/// Writes a value, or what fits so many bytes of it.
fn push(out: &mut String, raw: &str, room: usize) {
    if raw.len() <= room {
        out.push_str(raw);
    } else if let Some(object) = Object::parse(raw) {
        push_members(out, &object, room);
    } else if let Some(items) = array(raw) {
        push_items(out, items, room);
    } else {
        out.push_str("\"\""); // nothing else grows so long but a number of many digits
    }
}

fn push_members(out: &mut String, object: &Object<'_>, room: usize) {
    let mut writer = Writer::new(out);
    let mut left = room;
    let (small, large): (Vec<_>, Vec<_>) =
        object.iter().partition(|(name, value)| name.len() + value.len() <= SMALL);
    for (name, value) in small {
        let length = name.len() + value.len() + 2;
        if length <= left {
            left -= length;
            writer.copy(name, value);
        }
    }
    for (name, value) in large {
        // The next one may be large, too.
        let share = left / 2;
        if name.len() < share {
            let mut part = String::new();
            push(&mut part, value, share - name.len());
            left = left.saturating_sub(name.len() + part.len() + 2);
            writer.copy(name, &part);
        }
    }
    writer.end();
}

/// The first item stands for all where there is no room: an array that has items keeps one.
fn push_items<'a>(out: &mut String, items: impl Iterator<Item = &'a str>, room: usize) {
    let mut left = room;
    out.push('[');
    for (at, item) in items.enumerate() {
        let start = out.len();
        if item.len() < left {
            out.push_str(if at > 0 { "," } else { "" });
            out.push_str(item);
        } else if at == 0 && left > 0 {
            push(out, item, left / 2);
        } else {
            break;
        }
        left = left.saturating_sub(out.len() - start);
    }
    out.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(raw: &str) -> String {
        let out = excerpt(raw.to_owned());
        assert!(out.len() <= MOST_KEPT + 100, "{} bytes", out.len());
        out
    }

    #[test]
    fn small_answers_are_kept_whole() {
        let raw = format!("{{\"a\":\"{}\"}}", "x".repeat(MOST_KEPT - 8));
        assert_eq!(raw.len(), MOST_KEPT);
        assert_eq!(shown(&raw), raw);
    }

    #[test]
    fn small_members_outlive_large_ones_and_all_stay_what_they_were() {
        let text = "x".repeat(MOST_KEPT);
        let items = vec!["[1,{\"b\":2}]"; 20_000].join(",");
        let raw = format!(
            "{{\"text\":\"{text}\",\"items\":[{items}],\"one\":[\"{text}\"],\
              \"inner\":{{\"text\":\"{text}\",\"flag\":true}},\"last\":{{\"ttl\":0}}}}"
        );
        let out = shown(&raw);
        let object = Object::parse(&out).unwrap();
        assert_eq!(object.get("text"), Some("\"\""));
        assert_eq!(object.get("one"), Some("[\"\"]"));
        assert_eq!(object.get("inner"), Some("{\"flag\":true,\"text\":\"\"}"));
        assert_eq!(object.get("last"), Some("{\"ttl\":0}"));
        let kept = array(object.get("items").unwrap()).unwrap();
        assert!(kept.clone().count() > 100);
        assert!(kept.into_iter().all(|item| item == "[1,{\"b\":2}]"));
    }

    #[test]
    fn many_members_and_much_depth_stay_bounded() {
        let members: Vec<_> = (0..20_000).map(|number| format!("\"m{number}\":0")).collect();
        assert!(Object::parse(&shown(&format!("{{{}}}", members.join(",")))).is_some());
        let name = "n".repeat(2_000);
        let large: Vec<_> = (0..100).map(|at| format!("\"{at}{name}\":\"{name}\"")).collect();
        assert!(Object::parse(&shown(&format!("{{{}}}", large.join(",")))).is_some());
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(MOST_KEPT), "]".repeat(MOST_KEPT));
        assert!(shown(&deep).len() < MOST_KEPT);
    }
}
