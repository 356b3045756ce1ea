//! The scenes in which the server asks its client something.

use serde_json::{Value, json};

use crate::scenes::none;
use crate::talk::{Exchange, Talk};

pub(crate) fn at_once(talk: &mut Talk) -> Result<(), String> {
    talk.scene(
        "The server asks",
        "In the old revision the server sends requests to its client. In the new one\n\
         the call ends with the questions; the client repeats it with the answers.",
    );
    let able = json!({"elicitation": {}});
    let first = talk.call("deploy", json!({}), &able)?;
    let questions = first.questions();
    talk.same("both questions arrive together", &json!(questions.len()), &json!(2));
    let bare = questions.iter().all(|(_, question)| question.get("id").is_none());
    talk.holds("they are no requests any more", bare && !questions.is_empty());
    let replies = json!({
        "Where to?": {"environment": "staging"},
        "Which version?": {"version": "1.4.2"},
    });
    let answers = answers(&first, &replies);
    let second = retry(talk, "deploy", &first, &answers, &able)?;
    talk.same("the call goes on", second.text(), &json!("1.4.2 is on staging"));
    let third = retry(talk, "deploy", &first, &answers, &able)?;
    let reason = &third.answer["error"]["data"]["reason"];
    talk.same("a state works only once", reason, &json!("invalid_request_state"));
    talk.holds("and the server is not bothered", third.heard.is_empty());
    Ok(())
}

pub(crate) fn in_a_row(talk: &mut Talk) -> Result<(), String> {
    talk.scene("The server asks again", "Each round has its own questions and its own state.");
    let able = json!({"elicitation": {"form": {}}});
    let first = talk.call("onboard", json!({}), &able)?;
    let name = answers(&first, &json!({"What is your name?": {"name": "Ada"}}));
    let second = retry(talk, "onboard", &first, &name, &able)?;
    let team = answers(&second, &json!({"Which team, Ada?": {"team": "engines"}}));
    talk.same(
        "there is a second question",
        &json!(team.as_object().map(serde_json::Map::len)),
        &json!(1),
    );
    let state = |exchange: &Exchange| exchange.answer["result"]["requestState"].clone();
    talk.holds("with a new state", state(&first) != state(&second));
    let third = retry(talk, "onboard", &second, &team, &able)?;
    talk.same("both answers arrived", third.text(), &json!("Ada joins engines"));
    Ok(())
}

pub(crate) fn of_other_kinds(talk: &mut Talk) -> Result<(), String> {
    talk.scene("Pages, models, folders", "The other kinds of questions take the same way.");
    let able = json!({"elicitation": {"url": {}}, "sampling": {}, "roots": {}});
    let page = talk.call("sign_in", json!({}), &able)?;
    let params = page.questions().pop().map(|(_, question)| question["params"].clone());
    let old = params.unwrap_or_default().get("elicitationId").is_some();
    talk.holds("a page to open, without the old id", page.questions().len() == 1 && !old);
    let accepted = every_answer(&page, &json!({"action": "accept"}));
    let done = retry(talk, "sign_in", &page, &accepted, &able)?;
    talk.same("the page was opened", done.text(), &json!("signed in"));

    let text = json!({"text": "It rained. Then it stopped. We went out."});
    let model =
        talk.request("tools/call", json!({"name": "summarise", "arguments": text}), &able)?;
    let words = json!({
        "role": "assistant", "model": "tiny", "content": {"type": "text", "text": "Rain, then not."},
    });
    let params = json!({"name": "summarise", "arguments": text});
    let done = again(talk, params, &model, &every_answer(&model, &words), &able)?;
    talk.same("the model's words reach the server", done.text(), &json!("Rain, then not."));

    let folders = talk.call("folders", json!({}), &able)?;
    let roots = json!({"roots": [{"uri": "file:///home/ada"}]});
    let done = retry(talk, "folders", &folders, &every_answer(&folders, &roots), &able)?;
    talk.same("so do the client's folders", done.text(), &json!("file:///home/ada"));
    Ok(())
}

pub(crate) fn to_the_unable(talk: &mut Talk) -> Result<(), String> {
    talk.scene(
        "A client that cannot be asked",
        "The bridge says no in its place. If the server can go on, the call succeeds;\n\
         if it cannot, the client learns what was missing.",
    );
    let text = json!({"text": "It rained. Then it stopped."});
    let short = talk.call("summarise", text, &none())?;
    talk.same("the server does without a model", short.text(), &json!("It rained."));
    let folders = talk.call("folders", json!({}), &none())?;
    let error = &folders.answer["error"];
    talk.same("it cannot do without folders", &error["code"], &json!(-32021));
    let required = &error["data"]["requiredCapabilities"];
    talk.same("the client is told so", required, &json!({"roots": {}}));
    Ok(())
}

/// Repeats a call without arguments, with the answers it was waiting for.
fn retry(
    talk: &mut Talk,
    tool: &str,
    asked: &Exchange,
    answers: &Value,
    able: &Value,
) -> Result<Exchange, String> {
    again(talk, json!({"name": tool, "arguments": {}}), asked, answers, able)
}

fn again(
    talk: &mut Talk,
    mut params: Value,
    asked: &Exchange,
    answers: &Value,
    able: &Value,
) -> Result<Exchange, String> {
    params["inputResponses"] = answers.clone();
    params["requestState"] = asked.answer["result"]["requestState"].clone();
    talk.request("tools/call", params, able)
}

/// Fills in each form with the reply to its message; a message nobody expected is declined.
fn answers(asked: &Exchange, replies: &Value) -> Value {
    let fill = |(key, question): (String, Value)| {
        let message = question["params"]["message"].as_str().unwrap_or_default();
        let answer = match replies.get(message) {
            Some(content) => json!({"action": "accept", "content": content}),
            None => json!({"action": "decline"}),
        };
        (key, answer)
    };
    asked.questions().into_iter().map(fill).collect()
}

/// The same answer to every question.
fn every_answer(asked: &Exchange, answer: &Value) -> Value {
    asked.questions().into_iter().map(|(key, _)| (key, answer.clone())).collect()
}
