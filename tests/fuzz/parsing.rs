//! Reading JSON: what is accepted, and what it says, as the usual library has it (A6).

use std::borrow::Cow;

use mcp_uplift::message::decimal::Decimal;
use mcp_uplift::message::object::{Object, Spans};
use mcp_uplift::message::value;
use mcp_uplift::message::writer::quoted;
use mcp_uplift::message::{list, scan, wire};

use super::messages::{counting, whole_text};
use super::rng::Rng;
use super::tree::{depth, has_equal_members, is_json, items, text_of};
use super::words::{garbled, input, likely};
use super::{Target, Verdict, equality, messages, numbers};

pub(crate) const TARGET: Target = Target { name: "parsing", seeds: 2_500, generate, check };

fn generate(rng: &mut Rng) -> Vec<u8> {
    match rng.below(10) {
        0..4 => input(rng, "line"),
        4 => input(rng, "arrays"),
        5 => {
            let lines: Vec<_> = (0..rng.below(3)).map(|_| likely(rng, "line", 0)).collect();
            format!("[{}]", lines.join(",")).into_bytes()
        }
        6..9 => input(rng, "any"),
        _ => garbled(rng, Vec::new()),
    }
}

fn check(rng: &mut Rng, bytes: &[u8]) -> Verdict {
    // The program makes UTF-8 of a line before anything reads it (A16).
    let text = &*String::from_utf8_lossy(bytes);
    let fits = scan::is_json(text);
    if fits != is_json(text) {
        return Err(format!("A7 is it JSON: {fits}"));
    }
    messages::check(text)?;
    if !fits {
        if list::array(text).is_some_and(|items| items.count() > text.len()) {
            return Err("A6 more items than bytes".into());
        }
        return match Object::parse(text) {
            None => Ok(()),
            Some(_) => Err("A7 taken for a value".into()),
        };
    }
    values(text)?;
    let depth = depth(text);
    if value::is_too_deep(text) != (depth > 128) {
        return Err(format!("A6 too deep, with {depth} levels"));
    }
    equality::check(rng, text)
}

fn values(text: &str) -> Verdict {
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    scalar(text)?;
    match list::array(text).map(Iterator::collect::<Vec<_>>) {
        Some(seen) => {
            let expected = items(text);
            if expected.as_ref() != Some(&seen) {
                return Err(format!("A6 items {seen:?}, expected {expected:?}"));
            }
            numbers_in_order(&seen)?;
            seen.into_iter().try_for_each(scalar)
        }
        None if text.starts_with('[') => Err("A6 no array".into()),
        None => members(text),
    }
}

fn members(text: &str) -> Verdict {
    let (seen, expected) = (Object::parse(text), counting(text));
    let Some(object) = seen else {
        return if expected.is_none() { Ok(()) } else { Err("A6 no object".into()) };
    };
    let list: Vec<_> = object.iter().collect();
    if expected.as_ref() != Some(&list) {
        return Err(format!("A6 members {list:?}, expected {expected:?}"));
    }
    let all = super::tree::members(text).map_or(0, |all| all.len());
    if object.had_duplicates() != (all > list.len()) {
        return Err("A6 equal members were missed".into());
    }
    let spans: Vec<_> = Spans::of(&object, text).read(text).iter().collect();
    if spans != list {
        return Err(format!("A6 spans {spans:?}"));
    }
    let mut written = String::new();
    object.write(&mut written);
    if counting(&written).as_ref() != Some(&list)
        || !has_equal_members(text) && has_equal_members(&written)
    {
        return Err(format!("A6 written as {written}"));
    }
    for (name, value) in list {
        scalar(name)?;
        scalar(value)?;
        if let Some(name) = whole_text(name)
            && object.get(&name) != Some(value)
        {
            return Err(format!("A6 {name:?} is not found"));
        }
    }
    Ok(())
}

/// One raw value by itself.
fn scalar(raw: &str) -> Verdict {
    let wrong = |what: &str| Err(format!("A5 {what}: {raw}"));
    let (said, expected) = (value::string(raw).map(Cow::into_owned), whole_text(raw));
    if said != expected {
        return wrong(&format!("{said:?}, expected {expected:?}"));
    }
    if value::is_string(raw) != text_of(raw).is_some() {
        return wrong("is it a string");
    }
    if let Some(text) = said
        && whole_text(&quoted(&text)).as_ref() != Some(&text)
    {
        return wrong("quoted");
    }
    let is_number = raw.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    if value::is_number(raw) != is_number
        || value::is_integer(raw) != (is_number && numbers::is_integral(raw))
    {
        return wrong("is it an integer");
    }
    // Our numbers are plain; `.0` is what servers make of them that know floats only (A17).
    let own = raw.strip_suffix(".0").unwrap_or(raw);
    let own = own.parse::<u64>().ok().filter(|_| is_number);
    if wire::own_number(raw) == own { Ok(()) } else { wrong("is it a number of ours") }
}

fn numbers_in_order(raws: &[&str]) -> Verdict {
    let raws: Vec<_> = raws.iter().filter(|raw| value::is_number(raw)).take(8).collect();
    for a in &raws {
        for b in &raws {
            let (x, y) = (Decimal::read(a), Decimal::read(b));
            let (Some(x), Some(y), Some(expected)) = (x, y, numbers::compared(a, b)) else {
                continue;
            };
            if x.cmp(&y) != expected
                || (x == y) != expected.is_eq()
                || (x.to_string() == y.to_string()) != expected.is_eq()
            {
                return Err(format!("F3 {a} and {b}, expected {expected:?}"));
            }
        }
    }
    Ok(())
}
