//! Each bound that has no flag is filled, and what happens then is what its documentation says.
//! Those that have a flag are filled by the cases that `docs/limits.md` names.
#![allow(clippy::unwrap_used, reason = "what is unwrapped is written here")]

#[path = "support/play.rs"]
mod play;

use mcp_uplift::bounds;
use mcp_uplift::bridge::{Event, Exit, Generation, Line, Settings};
use play::{G, Play, call, line, listen, question, request, settings};
use serde_json::json;

#[test]
fn max_depth() {
    for (depth, code) in [(bounds::MAX_DEPTH, None), (bounds::MAX_DEPTH + 1, Some(-32600))] {
        let mut play = Play::ready(Settings::default());
        let nested = (1..depth).fold(json!({}), |inside, _| json!({ "a": inside }));
        let meta = json!({"io.modelcontextprotocol/clientCapabilities": nested});
        play.client(&request(json!(1), "server/discover", json!({}), &meta));
        assert_eq!(play.down[0]["error"]["code"].as_i64(), code, "{depth}");
        assert_eq!(play.down[0]["id"], 1);
    }
}

/// The same for a filter and for an answer to a question.
#[test]
fn max_depth_of_other_parts() {
    let nested = (0..bounds::MAX_DEPTH).fold(json!({}), |inside, _| json!({ "a": inside }));
    let mut play = Play::ready(Settings::default());
    let filter = json!({"notifications": {"x": nested}});
    play.client(&request(1, "subscriptions/listen", filter, &json!({})));
    assert_eq!(play.down.pop().unwrap()["error"]["code"], -32600);
    play.client(&call(2, &json!({})));
    play.server(&question("q", "m"));
    play.wait(60);
    let asked = play.down.pop().unwrap();
    let mut retry = call(3, &json!({}));
    retry["params"]["requestState"] = asked["result"]["requestState"].clone();
    retry["params"]["inputResponses"] = json!({"q1": {"action": "accept", "content": nested}});
    play.client(&retry);
    assert_eq!(play.down.pop().unwrap()["error"]["code"], -32600);
}

#[test]
fn longest_id() {
    let mut play = Play::ready(Settings::default());
    let longest = "i".repeat(bounds::LONGEST_ID - 2);
    play.client(&request(json!(longest), "server/discover", json!({}), &json!({})));
    assert_eq!(play.down[0]["id"], longest);
    play.client(&request(json!(longest + "i"), "server/discover", json!({}), &json!({})));
    assert_eq!(play.down[1]["error"]["code"], -32600);
    assert_eq!(play.down[1].get("id"), None);
    play.server(&json!({"id": "i".repeat(bounds::LONGEST_ID), "method": "ping"}));
    assert_eq!((play.up.len(), play.said.len()), (0, 1), "no id, no message");
}

#[test]
fn longest_token() {
    for (more, is_told) in [(0, true), (1, false)] {
        let mut play = Play::ready(Settings::default());
        let token = "t".repeat(bounds::LONGEST_TOKEN - 2 + more);
        let meta = json!({ "progressToken": token });
        play.client(&request(json!(1), "tools/call", json!({"name": "t"}), &meta));
        assert_eq!(play.up[0]["params"]["_meta"]["progressToken"].is_number(), is_told);
    }
}

#[test]
fn most_held() {
    let mut play = Play::new(Settings::default());
    let probe = |id: usize| request(id, "server/discover", json!({}), &json!({}));
    for id in 0..bounds::MOST_HELD {
        play.client(&probe(id));
    }
    assert!(play.down.is_empty());
    play.client(&probe(bounds::MOST_HELD));
    assert_eq!(play.last_error(), (-32603, "overloaded".into()));
}

#[test]
fn probes_take_no_seat_of_a_call() {
    let mut play = Play::new(settings(|s| s.limits.in_flight = 1));
    play.client(&request(json!("probe"), "server/discover", json!({}), &json!({})));
    play.client(&call(1, &json!({})));
    assert!(play.down.is_empty(), "both wait");
    play.client(&call(2, &json!({})));
    assert_eq!(play.last_error(), (-32603, "overloaded".into()));
}

#[test]
fn small() {
    let mut play = Play::new(settings(|s| s.limits.buffer_bytes = 10_000));
    play.client(&call(1, &json!({"pad": "x".repeat(9_900)})));
    let padded = |id: usize, size: usize| {
        request(id, "server/discover", json!({"pad": "x".repeat(size)}), &json!({}))
    };
    play.client(&padded(2, 1_000));
    assert!(play.down.is_empty(), "it is small and waits");
    play.client(&padded(3, bounds::SMALL));
    assert_eq!(play.last_error(), (-32603, "overloaded".into()));
}

#[test]
fn most_parked() {
    let mut play = Play::ready(Settings::default());
    let first = play.park(0, "m");
    for id in 1..bounds::MOST_PARKED {
        play.park(id, "m");
    }
    assert!(play.said.is_empty());
    play.park(bounds::MOST_PARKED, "m");
    let cancelled = json!({"requestId": first, "reason": "too many questions are open"});
    assert_eq!(
        play.up.iter().find(|m| m["method"] == "notifications/cancelled").unwrap()["params"],
        cancelled
    );
}

#[test]
fn most_rounds() {
    let mut play = Play::ready(Settings::default());
    play.client(&call(0, &json!({})));
    for round in 0..=bounds::MOST_ROUNDS {
        let server_id = format!("q{round}");
        play.server(&question(&server_id, "again"));
        play.wait(60);
        let answer = play.down.pop().unwrap();
        if round == bounds::MOST_ROUNDS {
            assert_eq!(answer["error"]["data"]["reason"], "too_many_rounds");
            return;
        }
        let mut retry = call(usize::try_from(round).unwrap() + 1, &json!({}));
        retry["params"]["requestState"] = answer["result"]["requestState"].clone();
        let keys = answer["result"]["inputRequests"].as_object().unwrap().keys();
        retry["params"]["inputResponses"] =
            keys.map(|key| (key.clone(), json!({"action": "decline"}))).collect();
        play.client(&retry);
    }
    unreachable!("the last round returns");
}

#[test]
fn most_questions() {
    let mut play = Play::ready(Settings::default());
    play.client(&call(0, &json!({})));
    play.up.clear();
    for number in 0..bounds::MOST_QUESTIONS {
        play.server(&question(&format!("q{number}"), "m"));
    }
    assert!(play.up.is_empty());
    play.server(&question("last", "m"));
    assert_eq!(play.up, [json!({"jsonrpc": "2.0", "id": "q0", "result": {"action": "cancel"}})]);
}

/// A question that moves from one given-up call to the next is one question, and does not stay for
/// ever: calls whose server never answers cost nothing in the long run.
#[test]
fn questions_that_move_are_bounded_too() {
    let mut play = Play::ready(Settings::default());
    for id in 0..2 * bounds::MOST_QUESTIONS {
        play.park(id, "m");
    }
    let kept = play.bridge.kept_bytes();
    for id in 0..2 * bounds::MOST_QUESTIONS {
        play.park(10_000 + id, "m");
    }
    assert!(play.bridge.kept_bytes() < kept + 2_000, "{kept}, {}", play.bridge.kept_bytes());
}

/// Folders asked for outside any call wait together; they are bounded as well.
#[test]
fn most_ambient_questions() {
    let mut play = Play::ready(Settings::default());
    for number in 0..bounds::MOST_QUESTIONS {
        play.server(&json!({"id": number, "method": "roots/list"}));
    }
    assert!(play.up.is_empty());
    play.server(&json!({"id": "last", "method": "roots/list"}));
    assert_eq!(play.up.len(), bounds::MOST_QUESTIONS + 1, "all are refused");
    assert_eq!(play.up[0]["error"]["code"], -32601);
}

/// A list that is done waits for no question any more: nothing is left of it but the question.
#[test]
fn lists_beside_a_held_question() {
    let mut play = Play::ready(Settings::default());
    play.server(&json!({"id": "r", "method": "roots/list"}));
    let expires = play.bridge.deadline();
    for id in 0..1_000 {
        play.client(&request(id, "tools/list", json!({}), &json!({})));
        let sent = play.up.pop().unwrap();
        play.server(&json!({"id": sent["id"], "result": {"tools": []}}));
    }
    assert_eq!(play.bridge.deadline(), expires);
    play.client(&request("stuck", "tools/list", json!({}), &json!({})));
    play.up.clear();
    play.wait(1_000);
    assert_eq!(play.up[0]["error"]["code"], -32601, "the last one waits for it");
}

/// The client's folders count against the client: they may be as long as a line.
#[test]
fn folders_are_no_reply() {
    let mut play = Play::ready(Settings::default());
    play.server(&json!({"id": "r", "method": "roots/list"}));
    let with_roots = json!({"io.modelcontextprotocol/clientCapabilities": {"roots": {}}});
    let params = json!({"name": "t", "arguments": {}});
    play.client(&request(1, "tools/call", params.clone(), &with_roots));
    let asked = play.down.pop().unwrap();
    let mut retry = request(2, "tools/call", params, &with_roots);
    retry["params"]["requestState"] = asked["result"]["requestState"].clone();
    let roots = json!({"roots": [{"uri": "file:///a"}]});
    retry["params"]["inputResponses"] = json!({"q1": roots});
    play.client(&retry);
    assert_eq!((play.up[0]["result"].clone(), play.replies), (roots, 0));
}

/// A call that comes back with half of its answers and is given up at once, for they are too
/// large: no question of it is forgotten, not even one that its client has not seen.
#[test]
fn questions_of_a_call_that_is_given_up_while_it_asks_again() {
    let mut play = Play::ready(settings(|s| s.limits.buffer_bytes = 4 << 20));
    play.client(&call(1, &json!({})));
    play.server(&question("a", "m"));
    play.server(&question("b", "m"));
    play.wait(60);
    let asked = play.down.pop().unwrap();
    play.server(&question("hidden", "m"));
    play.client(&call(2, &json!({})));
    play.server(&question("c", &"m".repeat(200 << 10)));
    play.wait(5);
    assert_eq!(play.down.pop().unwrap()["id"], 2, "parked in this very moment");
    let mut retry = call(3, &json!({}));
    retry["params"]["requestState"] = asked["result"]["requestState"].clone();
    let answer = json!({"action": "accept", "content": {"x": "x".repeat(900 << 10)}});
    retry["params"]["inputResponses"] = json!({ "q1": answer });
    play.up.clear();
    play.client(&retry);
    assert_eq!(play.up.remove(0)["method"], "notifications/cancelled");
    let refused: Vec<_> = play.up.iter().map(|up| up["id"].clone()).collect();
    assert_eq!(refused, ["a", "b", "hidden"]);
}

#[test]
fn most_pending() {
    let per_stream = 256;
    let mut play = Play::ready(settings(|s| s.limits.subscriptions = 1_000));
    let mut stream = 0;
    while play.up.len() <= bounds::MOST_PENDING {
        let uris: Vec<_> = (0..per_stream).map(|n| format!("x:{stream}.{n}")).collect();
        play.client(&listen(stream, &uris));
        stream += 1;
    }
    let (first, last) = (play.up[0]["id"].clone(), play.up.last().unwrap()["id"].clone());
    play.server(&json!({"id": first, "result": {}}));
    assert_eq!(play.said.pop().unwrap(), "a late or unknown answer of the server was dropped");
    play.server(&json!({"id": last, "result": {}}));
    assert!(play.said.is_empty(), "this one is waited for");
}

/// Streams that come and go before the server answers leave nothing behind.
#[test]
fn given_up_subscriptions_are_not_waited_for() {
    let mut play = Play::ready(Settings::default());
    play.client(&listen(1, &["x:a".into()]));
    let asked = play.up[0]["id"].clone();
    play.client(&json!({"method": "notifications/cancelled", "params": {"requestId": 1}}));
    play.server(&json!({"id": asked, "result": {}}));
    assert_eq!(play.said.pop().unwrap(), "a late or unknown answer of the server was dropped");
}

#[test]
fn most_lists() {
    let mut play = Play::ready(Settings::default());
    let list = |id: usize, cursor: usize| {
        let cursor = json!({"cursor": cursor.to_string()});
        request(id, "tools/list", cursor, &json!({}))
    };
    for number in 0..=bounds::MOST_LISTS {
        play.up.clear();
        play.client(&list(number, number));
        play.server(&json!({"id": play.up[0]["id"], "result": {"tools": []}}));
    }
    play.down.clear();
    play.client(&call(1000, &json!({})));
    play.client(&list(1001, 0));
    play.client(&list(1002, 1));
    play.wait(1_500);
    let answered: Vec<_> = play.down.iter().map(|answer| answer["id"].as_u64()).collect();
    assert_eq!(answered, [Some(1002)], "the oldest was evicted");
}

#[test]
fn most_uri_bytes() {
    for (size, code) in [(bounds::MOST_URI_BYTES, None), (bounds::MOST_URI_BYTES + 1, Some(-32602))]
    {
        let mut play = Play::ready(Settings::default());
        play.client(&listen(1, &["u".repeat(size)]));
        let error = play.down.first().and_then(|answer| answer["error"]["code"].as_i64());
        assert_eq!(error, code);
    }
}

#[test]
fn most_kept() {
    let mut play = Play::ready(Settings::default());
    play.client(&listen(1, &["x:a".into()]));
    play.server(&json!({"id": play.up[0]["id"], "result": {}}));
    assert_eq!(play.down.pop().unwrap()["method"], "notifications/subscriptions/acknowledged");
    play.tell(Event::ClientSlow(true));
    let update = |uri: &str, pad: usize| {
        let params = json!({"uri": uri, "_meta": {"pad": "x".repeat(pad)}});
        json!({"method": "notifications/resources/updated", "params": params})
    };
    for number in 0..3_000 {
        play.server(&update(&format!("x:a/{number}"), 500));
    }
    play.server(&json!({
        "method": "notifications/tools/list_changed",
        "params": {"_meta": {"pad": "x".repeat(bounds::MOST_KEPT)}},
    }));
    assert!(play.down.is_empty());
    assert!(play.bridge.kept_bytes() <= bounds::MOST_KEPT + 1_000);
    play.tell(Event::ClientSlow(false));
    let told = play.down.iter().any(|note| note["params"]["uri"] == "x:a");
    assert!(told, "what found no room is told of the watched URI");
}

#[test]
fn least_kept() {
    let mut play = Play::ready(settings(|s| s.limits.buffer_bytes = 1));
    let third = "m".repeat(bounds::LEAST_KEPT / 3);
    let first = play.park(0, &third);
    play.park(1, &third);
    assert!(play.said.is_empty());
    play.park(2, &third);
    let cancelled = play.up.iter().find(|m| m["method"] == "notifications/cancelled").unwrap();
    assert_eq!(cancelled["params"]["requestId"], first);
}

/// Questions of one call are bounded by their bytes, too.
#[test]
fn least_kept_for_questions() {
    let mut play = Play::ready(settings(|s| s.limits.buffer_bytes = 1));
    let half = "m".repeat(bounds::LEAST_KEPT / 2);
    play.client(&call(0, &json!({})));
    play.up.clear();
    play.server(&question("a", &half));
    assert!(play.up.is_empty());
    play.server(&question("b", &half));
    assert_eq!(play.up[0]["id"], "a");
    assert_eq!(play.up[0]["result"]["action"], "cancel");
}

/// What the server answers to parked calls is kept within the same bound.
#[test]
fn least_kept_for_outcomes() {
    let mut play = Play::ready(settings(|s| s.limits.buffer_bytes = 1));
    let calls: Vec<_> = (0..4).map(|id| play.park(id, "m")).collect();
    let text = "m".repeat(bounds::LEAST_KEPT / 3);
    for call in &calls {
        play.server(&json!({"id": call, "result": {"content": [{"type": "text", "text": text}]}}));
    }
    assert!(play.bridge.kept_bytes() <= bounds::LEAST_KEPT + 2_000);
}

#[test]
fn most_crashes() {
    let mut play = Play::ready(Settings::default());
    for number in 1..=bounds::MOST_CRASHES {
        let generation = Generation(u32::try_from(number).unwrap());
        play.tell(Event::ServerExited(generation, Exit::Code(1)));
        if number == bounds::MOST_CRASHES {
            break;
        }
        play.client(&call(number, &json!({})));
        play.wait(5_000);
        let next = Generation(generation.0 + 1);
        play.tell(Event::ServerStarted(next));
        let hello = play.up.pop().unwrap();
        assert_eq!(hello["method"], "initialize");
        let result = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}});
        let answer = json!({"id": hello["id"], "result": result});
        play.tell(Event::ServerLine(next, line(&answer)));
    }
    play.client(&call(100, &json!({})));
    assert_eq!(play.last_error(), (-32603, "upstream_unavailable".into()));
}

#[test]
fn noise_shown() {
    let mut play = Play::ready(Settings::default());
    for _ in 0..bounds::NOISE_SHOWN + 10 {
        play.tell(Event::ServerLine(G, Line { bytes: b"hello".to_vec(), ended: true }));
    }
    let shown = play.said.iter().filter(|text| text.ends_with(" hello")).count();
    assert_eq!(shown, usize::try_from(bounds::NOISE_SHOWN).unwrap());
    assert_eq!(play.said.len(), shown + 1, "and that there is more");
}

#[test]
fn shown() {
    let mut play = Play::ready(Settings::default());
    let noise = "n".repeat(bounds::SHOWN + 1);
    play.tell(Event::ServerLine(G, Line { bytes: noise.into_bytes(), ended: true }));
    let expected = format!("{}...", "n".repeat(bounds::SHOWN));
    assert!(play.said[0].ends_with(&format!(" {expected}")), "{}", play.said[0]);
}

#[test]
fn most_completions() {
    let mut play = Play::ready(Settings::default());
    let params = json!({
        "ref": {"type": "ref/prompt", "name": "p"},
        "argument": {"name": "a", "value": ""},
    });
    play.client(&request(json!(1), "completion/complete", params, &json!({})));
    let values: Vec<_> = (0..=bounds::MOST_COMPLETIONS).map(|n| n.to_string()).collect();
    play.server(&json!({"id": play.up[0]["id"], "result": {"completion": {"values": values}}}));
    let kept = play.down[0]["result"]["completion"]["values"].as_array().unwrap().len();
    assert_eq!(kept, bounds::MOST_COMPLETIONS);
}

/// A list with one tool more is passed on in the server's order, and nobody is told of each tool.
#[test]
fn most_tools() {
    let tool = |name: usize| json!({"name": format!("{:06}", 900_000 - name)});
    for (count, is_sorted) in [(bounds::MOST_TOOLS, true), (bounds::MOST_TOOLS + 1, false)] {
        let mut play = Play::ready(Settings::default());
        play.client(&request(1, "tools/list", json!({}), &json!({})));
        let tools: Vec<_> = (0..count).map(tool).collect();
        play.server(&json!({"id": play.up[0]["id"], "result": {"tools": tools}}));
        let down = play.down[0]["result"]["tools"].as_array().unwrap();
        assert_eq!(down.len(), count);
        assert_eq!(down[0]["name"] == tool(count - 1)["name"], is_sorted);
        assert_eq!(play.said.len(), if is_sorted { bounds::MOST_FINDINGS + 1 } else { 1 });
    }
}

#[test]
fn most_versions() {
    for (before, is_read) in [(bounds::MOST_VERSIONS - 1, true), (bounds::MOST_VERSIONS, false)] {
        let mut play = Play::new(Settings::default());
        play.tell(Event::ServerStarted(G));
        play.client(&request("first", "server/discover", json!({}), &json!({})));
        let mut supported = vec!["1999-01-01"; before];
        supported.push("2026-07-28");
        let error = json!({"code": -32602, "message": "m", "data": {"supported": supported}});
        play.server(&json!({"id": play.up[0]["id"], "error": error}));
        let probed = play.up.get(1).is_some_and(|up| up["method"] == "server/discover");
        assert_eq!(probed, is_read, "{:?}", play.up);
    }
}

/// A relayed client's notifications do not pile up before a process that does not start.
#[test]
fn lines_before_a_relayed_process() {
    let mut play = Play::new(settings(|s| s.limits.buffer_bytes = 10_000));
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"}});
    play.client(&json!({"id": 1, "method": "initialize", "params": hello}));
    for _ in 0..1_000 {
        play.client(&json!({"method": "notifications/x", "params": {"pad": "x".repeat(200)}}));
    }
    assert!(play.bridge.kept_bytes() <= 10_300, "{}", play.bridge.kept_bytes());
    assert!(play.said.iter().all(|text| text.contains("--max-buffer-bytes")), "{:?}", play.said);
    play.client(&json!({"id": 2, "method": "ping"}));
    assert_eq!(play.last_error(), (-32603, "overloaded".into()));
}

/// The names of URLs to visit are kept for as long as their call is (E28).
#[test]
fn least_kept_for_visits() {
    let mut play = Play::ready(settings(|s| s.limits.buffer_bytes = 1));
    let can = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}}});
    for id in 0..4 {
        play.up.clear();
        play.client(&request(id, "tools/call", json!({"name": "t"}), &can));
        let name = id.to_string().repeat(bounds::LEAST_KEPT / 3);
        let visit = json!({"elicitationId": name, "url": "http://x/", "message": "m"});
        let error = json!({"code": -32042, "message": "m", "data": {"elicitations": [visit]}});
        play.server(&json!({"id": play.up[0]["id"], "error": error}));
    }
    assert_eq!(play.said, ["too many questions are open; the oldest call is given up"; 2]);
}

/// Where the members of a request stand is kept with it, and may be more than the request.
#[test]
fn many_members_count() {
    let mut play = Play::ready(Settings::default());
    play.client(&call(0, &json!({})));
    let mut many = call(1, &json!({}));
    for number in 0..1_000 {
        many["params"][number.to_string()] = 0.into();
    }
    play.client(&many);
    assert!(play.bridge.kept_bytes() > 32 * 1_000, "{}", play.bridge.kept_bytes());
}

/// What comes down to many, or goes up for many questions, is there once.
#[test]
fn one_text_for_many_is_not_copied() {
    let mut play = Play::ready(settings(|s| s.limits.buffer_bytes = 1 << 30));
    let much = "m".repeat(1 << 20);
    play.client(&request("l", "tools/list", json!({}), &json!({})));
    let tools = [json!({"name": much, "inputSchema": {"type": "object"}})];
    play.server(&json!({"id": play.up[0]["id"], "result": {"tools": tools}}));
    play.client(&call(0, &json!({})));
    for id in 1..9 {
        play.client(&request(id, "tools/list", json!({}), &json!({})));
        let filter = json!({"notifications": {"toolsListChanged": true}});
        play.client(&request(100 + id, "subscriptions/listen", filter, &json!({})));
    }
    play.own_bytes = 0;
    play.wait(1_100);
    let changed = json!({"method": "notifications/tools/list_changed", "params": {"x": much}});
    play.server(&changed);
    assert_eq!(play.down.len(), 1 + 8 + 8 + 8);
    assert!(play.own_bytes < 10_000, "{}", play.own_bytes);
}

/// A server that asks for folders again and again keeps no request back for ever (E20).
#[test]
fn folders_are_digested_for_a_while() {
    for (between, at_least) in [(0, 4), (50, 4), (130, 10)] {
        let mut play = Play::ready(settings(|s| s.roots = vec!["/srv".into()]));
        let end = play.now + 5_000;
        let mut served = 0;
        while play.now < end {
            play.client(&call(served, &json!({})));
            play.server(&json!({"id": "r", "method": "roots/list"}));
            if let Some(sent) = play.up.iter().find(|sent| sent["method"] == "tools/call") {
                let id = sent["id"].clone();
                play.up.clear();
                play.server(&json!({"id": id, "result": {"content": []}}));
                served += 1;
            }
            play.wait(between.max(1));
        }
        assert!(served >= at_least, "{served} calls with {between} ms between the questions");
    }
}

/// One question holds a request back for as long as it takes to look at the folders.
#[test]
fn folders_are_digested_first() {
    let mut play = Play::ready(settings(|s| s.roots = vec!["/srv".into()]));
    for _ in 0..20 {
        play.wait(300);
        play.up.clear();
        play.server(&json!({"id": "r", "method": "roots/list"}));
        play.client(&call(1, &json!({})));
        play.wait(99);
        assert_eq!(play.up.len(), 1, "the answer alone");
        play.wait(1);
        play.server(&json!({"id": play.up[1]["id"], "result": {"content": []}}));
    }
}

/// Every bound has its test here and its row in the page on limits.
#[test]
fn complete() {
    let page = include_str!("../docs/limits.md");
    let table = include_str!("../src/bounds.rs");
    let names = table.lines().filter_map(|line| line.strip_prefix("pub const ")?.split(':').next());
    let names: Vec<_> = names.collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        assert!(page.contains(&format!("`{name}`")), "docs/limits.md lacks {name}");
        let is_tested = include_str!("bounds.rs").contains(&format!("bounds::{name}"));
        // No chain has legs enough to fill it; `bridge::notices` has its test.
        assert!(is_tested || name == "MOST_TOKENS", "nothing here fills {name}");
    }
}
