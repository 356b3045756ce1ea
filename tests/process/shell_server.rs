//! The smallest server there is: needs a shell, and no file, home, `/proc` or second process.

use std::process::Command;

use crate::client::bridge;

/// Answers the handshake and the first call, which is all that [`crate::alone::two_requests`] wants.
pub(crate) const SERVER: &str = r#"while read -r line; do case "$line" in
*'"initialize"'*) echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}';;
*tools/call*) echo '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"2"}]}}';;
esac; done"#;

pub(crate) fn around_a_shell(options: &[&str]) -> Command {
    bridge(options, &["sh", "-c", SERVER])
}

/// Runs `preparation` in a shell first, which then becomes `command`. `$0` in it is `place`.
pub(crate) fn behind(
    launcher: &[&str],
    preparation: &str,
    place: &str,
    command: &Command,
) -> Command {
    let script = format!("{preparation} && exec \"$@\"");
    let words = [launcher, &["sh", "-c", &script, place]].concat();
    let mut start = Command::new(words[0]);
    start.args(&words[1..]).arg(command.get_program()).args(command.get_args());
    start
}
