//! What only a server does that speaks 2026-07-28 itself (I14).

use super::{Out, P_STREAM, Server, ServerKind, Told, line};

impl Server {
    /// A notification on an open stream, under the id that the bridge gave the request.
    pub(super) fn stream_note(&mut self, out: &mut Vec<Out>) -> bool {
        let streams = self.calls.iter().filter(|call| call.method == "subscriptions/listen");
        let streams: Vec<_> = streams.map(|call| call.id).collect();
        if self.habits.kind != ServerKind::Modern || streams.is_empty() {
            return false;
        }
        let stream = *self.rng.pick(&streams);
        let text = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":{{\"_meta\":{{\"x\":1,\"{P_STREAM}\":{stream}}}}}}}"
        );
        out.push(line(text, Told::Note { stream: Some(stream) }));
        true
    }
}
