//! A server's notifications on their way down (F3, F14, G8, G15).

use mcp_uplift::message::notes;
use mcp_uplift::message::object::Object;

use super::Verdict;
use super::edits::Edit;
use super::json::Json;
use super::model::{
    Members, SUBSCRIPTION_ID, compare, is_number, is_string, member, meta_down, whole, without,
};
use super::rng::Rng;
use super::tree::tree;

pub(crate) const PROGRESS: Edit = Edit { shape: |_| "progress params", check: progress };
pub(crate) const LOG: Edit = Edit { shape: |_| "log params", check: log };
pub(crate) const CHANGE: Edit = Edit { shape: |_| "change params", check: change };

const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

fn meta(down: &mut Members, params: &Json, stream: Option<Json>) {
    let mut meta = meta_down(params.get("_meta"));
    meta.extend(stream.map(|stream| member(SUBSCRIPTION_ID, stream)));
    if !meta.is_empty() {
        down.push(member("_meta", Json::Object(meta)));
    }
}

fn progress(_: &mut Rng, text: &str) -> Verdict {
    let Some(params) = Object::parse(text) else { return Ok(()) };
    let seen = notes::progress_value(&params).map(|_| notes::progress("\"p\"", &params));
    let Some(given) = tree(text) else { return Ok(()) };
    // A value with an exponent beyond all reason cannot be compared, and is dropped.
    let value = match given.get("progress") {
        Some(Json::Number(text))
            if super::numbers::compared(text, text).is_some() || seen.is_some() =>
        {
            Json::Number(text.clone())
        }
        _ => return if seen.is_none() { Ok(()) } else { Err(format!("F3 {seen:?}")) },
    };
    let mut down = vec![member("progressToken", Json::string("p")), member("progress", value)];
    down.extend(
        given
            .get("total")
            .filter(|total| is_number(Some(total)))
            .map(|total| member("total", total.clone())),
    );
    down.extend(
        given
            .get("message")
            .filter(|text| is_string(Some(text)))
            .map(|text| member("message", text.clone())),
    );
    meta(&mut down, &given, None);
    compare("F3", text, &seen.unwrap_or_default(), &Json::Object(down))
}

fn log(_: &mut Rng, text: &str) -> Verdict {
    let Some(params) = Object::parse(text) else { return Ok(()) };
    let seen = notes::log_message(&params);
    let Some(given) = tree(text) else { return Ok(()) };
    let level =
        whole(given.get("level")).and_then(|level| LEVELS.iter().position(|known| *known == level));
    let (Some(level), Some((severity, out))) = (level, &seen) else {
        return if level.is_none() && seen.is_none() {
            Ok(())
        } else {
            Err(format!("F14 {seen:?}"))
        };
    };
    if usize::from(*severity) != level {
        return Err(format!("F14 severity {severity}, expected {level}"));
    }
    let mut down = vec![member("level", Json::string(LEVELS[level]))];
    down.extend(
        given
            .get("logger")
            .filter(|logger| is_string(Some(logger)))
            .map(|logger| member("logger", logger.clone())),
    );
    down.push(member("data", given.get("data").cloned().unwrap_or(Json::Null)));
    meta(&mut down, &given, None);
    compare("F14", text, out, &Json::Object(down))
}

fn change(rng: &mut Rng, text: &str) -> Verdict {
    let params = Object::parse(text);
    let (stream, value) =
        if rng.chance(50) { ("7", Json::Number("7".into())) } else { ("\"L\"", Json::string("L")) };
    let out = notes::change(params.as_ref(), stream);
    let given = match (&params, tree(text)) {
        (None, _) => Json::object([]),
        (Some(_), Some(given)) => given,
        (Some(_), None) => return Ok(()),
    };
    let mut down = without(given.members().unwrap_or_default(), &["_meta"]);
    meta(&mut down, &given, Some(value));
    compare("G8", text, &out, &Json::Object(down))
}
