//! What the demo shows, scene by scene, and what must be true of it.

use serde_json::{Value, json};

use crate::questions;
use crate::talk::{Talk, show};

/// The capabilities of a client that can do nothing but call.
pub(crate) fn none() -> Value {
    json!({})
}

/// All scenes in order.
pub(crate) fn play(talk: &mut Talk) -> Result<(), String> {
    show(INTRODUCTION);
    discover(talk)?;
    lists(talk)?;
    calls(talk)?;
    reading(talk)?;
    questions::at_once(talk)?;
    questions::in_a_row(talk)?;
    questions::of_other_kinds(talk)?;
    questions::to_the_unable(talk)?;
    errors(talk)?;
    pings(talk)?;
    progress(talk)?;
    talk.scene("Goodbye", "The client closes the pipe. Nothing may be left behind.");
    Ok(())
}

const INTRODUCTION: &str = "\
A client of MCP 2026-07-28 talks to a server of 2025-11-25 through mcp-uplift.

  client >  what the client sends        server <  what the server hears
  client <  what the client receives     server >  what the server says

Long values are cut. \"jsonrpc\" is left out, and after the first request the
envelope in \"_meta\", which every request carries.
";

fn discover(talk: &mut Talk) -> Result<(), String> {
    talk.scene(
        "Who is there?",
        "The client asks in the new way. The bridge greets the server in the old one.",
    );
    let exchange = talk.request("server/discover", json!({}), &none())?;
    let result = &exchange.answer["result"];
    talk.same("the new revision is on offer", &result["supportedVersions"], &json!(["2026-07-28"]));
    let name = &result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"];
    talk.same("the server keeps its name", name, &json!("legacy-server"));
    talk.holds("its tools are announced", result["capabilities"]["tools"].is_object());
    // The second half of the greeting may still be on its way.
    let greeting = ["initialize", "notifications/initialized"];
    let known = |message: &Value| greeting.iter().any(|method| message["method"] == *method);
    let greeted = !exchange.heard.is_empty() && exchange.heard.iter().all(known);
    talk.holds("the server heard its own greeting and nothing new", greeted);
    Ok(())
}

fn lists(talk: &mut Talk) -> Result<(), String> {
    talk.scene(
        "What can it do?",
        "Pages pass as they are; what the new revision demands is added.",
    );
    let first = talk.request("tools/list", json!({}), &none())?;
    let result = &first.answer["result"];
    talk.same("it is marked as complete", &result["resultType"], &json!("complete"));
    talk.holds("it says how long it may be kept", result["ttlMs"].is_u64());
    let names = names(result);
    talk.holds("the tools of a page are in order", names.is_sorted() && names.len() == 8);
    let cursor = result["nextCursor"].clone();
    let second = talk.request("tools/list", json!({"cursor": cursor}), &none())?;
    let rest = self::names(&second.answer["result"]).len();
    talk.same("the second page has the other six", &json!(rest), &json!(6));
    Ok(())
}

fn names(result: &Value) -> Vec<&str> {
    let tools = result["tools"].as_array();
    tools.into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect()
}

fn calls(talk: &mut Talk) -> Result<(), String> {
    talk.scene("A plain call", "The server never sees the envelope of the new revision.");
    let exchange = talk.call("add", json!({"a": 2, "b": 40}), &none())?;
    let sum = &exchange.answer["result"]["structuredContent"]["sum"];
    talk.holds("2 + 40 = 42", sum.as_f64() == Some(42.0));
    let bare = |message: &Value| message["params"].get("_meta").is_none();
    let plain = exchange.heard.len() == 1 && exchange.heard.iter().all(bare);
    talk.holds("the server heard no \"_meta\"", plain);
    Ok(())
}

fn reading(talk: &mut Talk) -> Result<(), String> {
    talk.scene("Resources, prompts, completion", "They go the same way.");
    let note = talk.request("resources/read", json!({"uri": "note://7"}), &none())?;
    let text = &note.answer["result"]["contents"][0]["text"];
    talk.same("the note is read", text, &json!("This is note 7."));
    let missing = talk.request("resources/read", json!({"uri": "note://99"}), &none())?;
    let code = &missing.answer["error"]["code"];
    talk.same("the old code for \"not found\" became the new one", code, &json!(-32602));
    let greet = json!({"name": "greet", "arguments": {"name": "Ada"}});
    let prompt = talk.request("prompts/get", greet, &none())?;
    let text = &prompt.answer["result"]["messages"][0]["content"]["text"];
    talk.same("the prompt is filled in", text, &json!("Greet Ada in a plain style."));
    let start = json!({
        "ref": {"type": "ref/prompt", "name": "greet"},
        "argument": {"name": "style", "value": "f"},
    });
    let styles = talk.request("completion/complete", start, &none())?;
    let values = &styles.answer["result"]["completion"]["values"];
    talk.same("two styles begin with f", values, &json!(["formal", "friendly"]));
    Ok(())
}

fn errors(talk: &mut Talk) -> Result<(), String> {
    talk.scene("When it fails", "Failures keep their kind, their code and their data.");
    let failed = talk.call("fail", json!({}), &none())?;
    talk.same("a tool's failure is a result", &failed.answer["result"]["isError"], &json!(true));
    let broken = talk.call("broken", json!({}), &none())?;
    talk.same("an error keeps its code", &broken.answer["error"]["code"], &json!(17));
    let data = &broken.answer["error"]["data"];
    talk.same("and its data", data, &json!({"retry": false}));
    let removed = talk.request("ping", json!({}), &none())?;
    let code = &removed.answer["error"]["code"];
    talk.same("a method that is no more", code, &json!(-32601));
    talk.holds("does not reach the server", removed.heard.is_empty());
    Ok(())
}

fn pings(talk: &mut Talk) -> Result<(), String> {
    talk.scene("Old servers ping", "The new revision has no pings, so the bridge answers them.");
    let exchange = talk.call("ping", json!({}), &none())?;
    talk.same("the server has its answer", exchange.text(), &json!("the client is there"));
    let pinged = exchange.said.iter().any(|message| message["method"] == "ping");
    talk.holds("the client saw none of it", pinged && exchange.notices.is_empty());
    Ok(())
}

fn progress(talk: &mut Talk) -> Result<(), String> {
    talk.scene("A long call", "The client wants to know how far it is.");
    let params = json!({
        "name": "slow",
        "arguments": {"ms": 400},
        "_meta": {"progressToken": "bar"},
    });
    let exchange = talk.request("tools/call", params, &none())?;
    talk.same("it is done", exchange.text(), &json!("worked for 400 ms"));
    if exchange.notices.is_empty() {
        show("  note   no progress arrived: this release does not pass it on yet\n");
        return Ok(());
    }
    let reports = || exchange.notices.iter().map(|notice| &notice["params"]);
    let mine = reports().all(|report| report["progressToken"] == "bar");
    talk.holds("each report carries the client's token", mine);
    let steps: Vec<_> = reports().filter_map(|report| report["progress"].as_u64()).collect();
    talk.holds("the steps rise to the last", steps.is_sorted() && steps.ends_with(&[4]));
    Ok(())
}
