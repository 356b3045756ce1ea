//! Lines of one byte less than the limit, of the limit, of one byte more; both ways (A12, R).

use crate::client::{Client, call, error, request, text};
use crate::json::Json;

/// The default of `--max-line-bytes`.
const DEFAULT: usize = 16 << 20;

/// A call that is exactly so long, without its line feed.
fn long_request(id: u64, bytes: usize) -> String {
    let with = |pad: &str| {
        request(id, "tools/call", &call("echo", &format!("\"tag\":{id},\"pad\":\"{pad}\"")))
    };
    let bare = with("").len();
    with(&"p".repeat(bytes - bare))
}

/// The client's lines; the end of a line does not count.
fn down_to_the_byte(client: &mut Client, limit: usize) {
    for end in ["", "\r"] {
        for bytes in [limit - 1, limit, limit + 1] {
            let id = client.next_id();
            client.begin(&format!("{}{end}", long_request(id, bytes)));
            client.finish(1);
            if bytes > limit {
                let refusal = client.wait_for("the refusal", |message| !message.has("id"));
                assert_eq!(error(&refusal), Some((-32600, "")), "{}", refusal.short(300));
                assert!(refusal.short(600).contains("--max-line-bytes"), "{}", refusal.short(600));
            } else {
                let answer = client.answer(id);
                assert_eq!(text(&answer), Some(id.to_string().as_str()), "{}", answer.short(300));
            }
        }
    }
}

/// The server's lines.
fn up_to_the_byte(client: &mut Client, limit: usize) {
    for ends in ["", ",\"cr\":true"] {
        for bytes in [limit - 1, limit, limit + 1] {
            let id = client.call("exact", &format!("\"tag\":1,\"bytes\":{bytes}{ends}"));
            let answer = client.answer(id);
            if bytes > limit {
                assert_eq!(error(&answer).map(|(code, _)| code), Some(-32603));
                let told = answer.get("error").map(Json::to_text).unwrap_or_default();
                assert!(told.contains("--max-line-bytes"), "{told}");
            } else {
                let length = text(&answer).map(str::len);
                assert!(length.is_some_and(|length| length > bytes - 200), "{}", answer.short(300));
            }
        }
    }
}

pub(crate) fn lines_at_the_limit() -> String {
    for (options, limit) in [(&["--max-line-bytes", "2000"][..], 2000), (&[], DEFAULT)] {
        let mut client = Client::start("line-limit", options, &[]);
        down_to_the_byte(&mut client, limit);
        up_to_the_byte(&mut client, limit);
        assert!(client.end().is_empty());
    }
    "24 lines around 2000 bytes and 16 MiB".to_owned()
}
