//! rmcp client. Usage: interop-rmcp MODE STEPS.json -- COMMAND [ARG...]; MODE: auto | pin | legacy
//! Prints the same JSON lines as the TypeScript drivers (see ../steps.mjs).
#![allow(deprecated)]

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rmcp::model::*;
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, NotificationContext, PeerRequestOptions, RequestContext,
    RoleClient, RunningService, ServiceError,
};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientHandler, ErrorData};
use serde_json::{Map, Value, json};

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

/// Builds a typed value from JSON; the types have no public constructors for every field.
fn typed<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("steps file holds valid parameters")
}

fn plain<T: serde::Serialize>(value: T) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

#[derive(Default)]
struct State {
    events: Vec<Value>,
    answer: String,
    roots: Value,
}

#[derive(Clone, Default)]
struct Handler(Arc<Mutex<State>>);

impl Handler {
    fn record(&self, kind: &str, mut data: Map<String, Value>) {
        data.insert("kind".into(), json!(kind));
        data.insert("at".into(), json!(now()));
        self.0.lock().unwrap().events.push(Value::Object(data));
    }
    fn record_params(&self, kind: &str, params: Value) {
        self.record(kind, Map::from_iter([("params".to_string(), params)]));
    }
    fn record_change(&self, method: &str, params: Value) {
        self.record(
            "notify",
            Map::from_iter([("method".to_string(), json!(method)), ("params".to_string(), params)]),
        );
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        typed(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}},
            "clientInfo": {"name": "interop-rmcp", "version": "1.0.0"}
        }))
    }
    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let params = plain(params);
        self.record_params("elicit", params.clone());
        let answer = self.0.lock().unwrap().answer.clone();
        if answer != "accept" || params["mode"] == "url" {
            return Ok(typed(json!({"action": answer})));
        }
        let name = format!("re:{}", params["message"].as_str().unwrap_or(""));
        Ok(typed(
            json!({"action": "accept", "content": {"name": name, "age": 36, "subscribe": true, "colour": "green"}}),
        ))
    }
    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.record_params("sample", plain(params));
        Ok(typed(
            json!({"role": "assistant", "model": "test-model", "stopReason": "endTurn", "content": {"type": "text", "text": "hi there ✓"}}),
        ))
    }
    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        self.record("roots", Map::new());
        Ok(typed(json!({"roots": self.0.lock().unwrap().roots})))
    }
    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.record_params("progress", plain(params));
    }
    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.record_params("log", plain(params));
    }
    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.record_change("notifications/resources/updated", plain(params));
    }
    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.record_change("notifications/resources/list_changed", Value::Null);
    }
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.record_change("notifications/tools/list_changed", Value::Null);
    }
    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.record_change("notifications/prompts/list_changed", Value::Null);
    }
}

struct Driver {
    client: RunningService<RoleClient, Handler>,
    handler: Handler,
    modern: bool,
}

impl Driver {
    fn call_params(&self, step: &Value) -> CallToolRequestParams {
        let mut params = json!({"name": step["name"], "arguments": step.get("arguments").cloned().unwrap_or(json!({}))});
        if let (Some(level), true) = (step["logLevel"].as_str(), self.modern) {
            params["_meta"] = json!({"io.modelcontextprotocol/logLevel": level});
        }
        typed(params)
    }

    async fn call(&self, step: &Value) -> Result<Value, ServiceError> {
        if let (Some(level), false) = (step["logLevel"].as_str(), self.modern) {
            self.client.set_level(typed(json!({"level": level}))).await?;
        }
        if let Some(ms) = step["cancelAfterMs"].as_u64() {
            let request =
                ClientRequest::CallToolRequest(CallToolRequest::new(self.call_params(step)));
            let handle = self
                .client
                .send_cancellable_request(request, PeerRequestOptions::no_options())
                .await?;
            tokio::time::sleep(Duration::from_millis(ms)).await;
            handle.cancel(Some("user gave up".into())).await?;
            return Err(ServiceError::Cancelled { reason: None });
        }
        Ok(plain(self.client.call_tool(self.call_params(step)).await?))
    }

    async fn list(&self, what: &str) -> Result<Value, ServiceError> {
        let (mut items, mut cursor) = (Vec::new(), None);
        loop {
            let params = Some(PaginatedRequestParams::default().with_cursor(cursor.clone()));
            let (key, page) = match what {
                "tools" => ("tools", plain(self.client.list_tools(params).await?)),
                "prompts" => ("prompts", plain(self.client.list_prompts(params).await?)),
                "resources" => ("resources", plain(self.client.list_resources(params).await?)),
                _ => {
                    ("resourceTemplates", plain(self.client.list_resource_templates(params).await?))
                }
            };
            items.extend(page[key].as_array().cloned().unwrap_or_default());
            cursor = page["nextCursor"].as_str().map(str::to_string);
            if cursor.is_none() {
                return Ok(json!({"items": items}));
            }
        }
    }

    async fn listen(&self, step: &Value) -> Result<Value, ServiceError> {
        let trigger = &step["trigger"];
        let wait = Duration::from_millis(step["waitMs"].as_u64().unwrap_or(600));
        let (mut delivered, mut honored) = (Vec::new(), step["filter"].clone());
        let uris: Vec<String> =
            typed(step["filter"].get("resourceSubscriptions").cloned().unwrap_or(json!([])));
        if self.modern {
            let mut subscription = self.client.listen(typed(step["filter"].clone())).await?;
            honored = plain(subscription.acknowledged());
            self.call(trigger).await?;
            let end = tokio::time::Instant::now() + wait;
            while let Ok(event) = tokio::time::timeout_at(end, subscription.next()).await {
                match event? {
                    Some(event) => delivered.push(plain(event)),
                    None => break,
                }
            }
            subscription.cancel().await?;
        } else {
            for uri in &uris {
                self.client.subscribe(SubscribeRequestParams::new(uri.clone())).await?;
            }
            self.call(trigger).await?;
            tokio::time::sleep(wait).await;
            delivered = self.changes(0);
            for uri in &uris {
                self.client.unsubscribe(typed(json!({"uri": uri}))).await?;
            }
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        let seen = self.changes(0).len();
        self.call(trigger).await?;
        tokio::time::sleep(Duration::from_millis(300)).await;
        let late: Vec<Value> =
            self.changes(seen).into_iter().map(|e| e["method"].clone()).collect();
        Ok(json!({"honored": honored, "delivered": delivered, "late": late}))
    }

    fn changes(&self, from: usize) -> Vec<Value> {
        let state = self.handler.0.lock().unwrap();
        state.events.iter().filter(|e| e["kind"] == "notify").skip(from).cloned().collect()
    }

    async fn perform(&self, step: &Value) -> Result<Value, ServiceError> {
        match step["op"].as_str().unwrap_or("") {
            "identity" => {
                let info = self.client.peer().peer_info().map(plain).unwrap_or(Value::Null);
                Ok(json!({"protocolVersion": info["protocolVersion"], "info": info}))
            }
            "list" => self.list(step["what"].as_str().unwrap_or("")).await,
            "call" => self.call(step).await,
            "concurrent" => {
                let calls = (0..step["count"].as_u64().unwrap_or(0)).map(|n| {
                    let mut one = step.clone();
                    if !one["arguments"].is_object() {
                        one["arguments"] = json!({});
                    }
                    one["arguments"]["n"] = json!(n);
                    async move { self.call(&one).await }
                });
                Ok(Value::Array(futures::future::try_join_all(calls).await?))
            }
            "prompt" => {
                let mut params = json!({"name": step["name"]});
                if step["arguments"].is_object() {
                    params["arguments"] = step["arguments"].clone();
                }
                Ok(plain(self.client.get_prompt(typed(params)).await?))
            }
            "read" => {
                Ok(plain(self.client.read_resource(typed(json!({"uri": step["uri"]}))).await?))
            }
            "complete" => {
                let mut params = json!({"ref": step["ref"], "argument": step["argument"]});
                if step["context"].is_object() {
                    params["context"] = step["context"].clone();
                }
                Ok(plain(self.client.complete(typed(params)).await?))
            }
            "listen" => self.listen(step).await,
            other => panic!("unknown op {other}"),
        }
    }
}

fn as_error(error: &ServiceError) -> Value {
    match error {
        ServiceError::McpError(e) => {
            json!({"code": e.code.0, "message": e.message, "data": e.data, "kind": "McpError"})
        }
        other => {
            json!({"code": null, "message": other.to_string(), "kind": format!("{other:?}").chars().take(60).collect::<String>()})
        }
    }
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let plan: Value =
        serde_json::from_str(&std::fs::read_to_string(&arguments[1]).expect("steps file"))
            .expect("JSON");
    let mut command = tokio::process::Command::new(&arguments[3]);
    command.args(&arguments[4..]);
    let handler = Handler::default();
    handler.0.lock().unwrap().roots = plan["roots"].clone();
    let preferred_versions: Vec<ProtocolVersion> = vec![typed(json!("2026-07-28"))];
    let lifecycle = match arguments[0].as_str() {
        "auto" => ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
        "pin" => ClientLifecycleMode::Discover { preferred_versions },
        _ => ClientLifecycleMode::Initialize,
    };
    let t0 = now();
    let transport = TokioChildProcess::new(command).expect("spawn");
    let client = match handler.clone().serve_with_lifecycle(transport, lifecycle).await {
        Ok(client) => client,
        Err(error) => {
            println!(
                "{}",
                json!({"step": "connect", "t0": t0, "t1": now(), "error": {"message": error.to_string()}, "events": []})
            );
            std::process::exit(1);
        }
    };
    println!("{}", json!({"step": "connect", "t0": t0, "t1": now(), "value": true, "events": []}));
    let version =
        client.peer().peer_info().map(plain).unwrap_or(Value::Null)["protocolVersion"].clone();
    let driver = Driver { modern: version == "2026-07-28", client, handler: handler.clone() };
    let mut timeouts = 0; // in a row; a blocked bridge would otherwise cost 13 s per step
    for step in plan["steps"].as_array().expect("steps") {
        if timeouts == 3 {
            break;
        }
        {
            let mut state = handler.0.lock().unwrap();
            state.events.clear();
            state.answer = step["answer"].as_str().unwrap_or("accept").to_string();
        }
        let t0 = now();
        let mut entry =
            match tokio::time::timeout(Duration::from_secs(13), driver.perform(step)).await {
                Ok(Ok(value)) => json!({"value": value}),
                Ok(Err(error)) => json!({"error": as_error(&error)}),
                Err(_) => json!({"error": {"message": "step timed out"}}),
            };
        timeouts = if entry["error"]["message"] == "step timed out" { timeouts + 1 } else { 0 };
        tokio::time::sleep(Duration::from_millis(step["settleMs"].as_u64().unwrap_or(0))).await;
        let mut events = handler.0.lock().unwrap().events.clone();
        if step["progress"] != true {
            events.retain(|e| e["kind"] != "progress");
        }
        entry["step"] = step["id"].clone();
        entry["t0"] = json!(t0);
        entry["t1"] = json!(now());
        entry["events"] = Value::Array(events);
        println!("{entry}");
        tokio::time::sleep(Duration::from_millis(20)).await; // keeps the steps apart in the recordings
    }
    let t0 = now();
    let _ = driver.client.cancel().await;
    println!("{}", json!({"step": "close", "t0": t0, "t1": now(), "value": true, "events": []}));
}
