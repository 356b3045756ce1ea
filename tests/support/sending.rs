//! A `send_raw` on its way: bytes that may leave in pieces, with gaps between them.

use mcp_uplift::bridge::Time;

use super::pattern::{Names, raw_bytes};
use super::steps::RawText;

pub(crate) struct Sending {
    pub(crate) bytes: Vec<u8>,
    sent: usize,
    next_at: Time,
}

impl Sending {
    pub(crate) fn of(step: &RawText, names: &Names) -> Result<Sending, String> {
        Ok(Sending { bytes: raw_bytes(&step.text, names)?, sent: 0, next_at: Time(0) })
    }

    /// Writes the pieces that are due. `Some`: it goes on then.
    pub(crate) fn go_on(
        &mut self,
        step: &RawText,
        now: Time,
        write: &mut dyn FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<Option<Time>, String> {
        let chunk = step.chunk.unwrap_or(self.bytes.len()).max(1);
        loop {
            if now < self.next_at {
                return Ok(Some(self.next_at));
            }
            let Some(piece) = self.bytes[self.sent..].chunks(chunk).next() else {
                return Ok(None);
            };
            write(piece)?;
            self.sent += piece.len();
            self.next_at = now.after(step.gap_ms);
        }
    }
}
