//! One process after the other as a check talks to it: requests with their ids and times, and the wait
//! for what comes back. What that means stands in `heard`.

use super::envelope::{self, Envelope};
use super::model::{ChildNote, Frame};
use super::options::Wishes;
use super::secrets::{hidden, masked_start};
use super::seen::{OUT_OF_TIME, Probe, Reply, Seen, in_our_words};
use crate::bridge::Time;
use crate::message::wire;
use crate::shell::Launch;
use crate::shell::keeper::{Heard, How, Keeper, Last};
use crate::shell::lines::Piece;

/// How long a process may take to end that has closed its output, in milliseconds.
const ENDS_MS: u64 = 300;

/// Lines that are looked at of what a process says while it is being ended.
const MOST_REST: usize = 20;

/// How long a closed stream is listened to, in milliseconds.
const CLOSED_MS: u64 = 100;

/// The child that runs.
pub(super) struct Child {
    id: char,
    started: Time,
    frames: usize,
    /// It was opened with `initialize`: it may ask, and is answered.
    pub(super) is_legacy: bool,
    number: u64,
    /// It wrote something.
    pub(super) has_written: bool,
    pub(super) spent: Vec<Spent>,
}

/// A request for which nobody waits any more.
pub(super) struct Spent {
    pub(super) id: String,
    pub(super) method: &'static str,
    pub(super) is_answered: bool,
}

/// Talks to one child after the other, and notes what it sees.
pub(super) struct Talk<'k> {
    pub(super) keeper: &'k mut Keeper,
    launch: &'k Launch,
    pub(super) seen: Seen,
    timeout_ms: u64,
    start_timeout_ms: u64,
    until: Time,
    next_child: char,
    pub(super) child: Option<Child>,
    /// The child was ended for a line over the limit, which is no death of its own.
    pub(super) was_cut_off: bool,
    /// The stream that was closed, of which nothing may follow.
    pub(super) closed_stream: Option<String>,
}

/// A request that was sent, and what came of it.
pub(super) struct Exchange {
    pub(super) probe: Probe,
    /// The parameters of the acknowledgement, where a stream was opened by one.
    pub(super) acknowledged: Option<String>,
    pub(super) id: String,
}

/// What a line has to say to who waits for an answer.
pub(super) enum Found {
    Answer(Frame, Reply),
    Acknowledged(Frame, String),
    Nothing,
}

impl<'k> Talk<'k> {
    pub(super) fn new(
        keeper: &'k mut Keeper,
        launch: &'k Launch,
        wishes: &Wishes,
        secrets: &[String],
        is_wrapped: bool,
    ) -> Self {
        let until = keeper.now().after(wishes.budget_ms);
        Talk {
            keeper,
            launch,
            seen: Seen { secrets: hidden(secrets), is_wrapped, ..Seen::default() },
            timeout_ms: wishes.timeout_ms,
            start_timeout_ms: wishes.start_timeout_ms,
            until,
            next_child: 'E',
            child: None,
            was_cut_off: false,
            closed_stream: None,
        }
    }

    /// Is there no time left?
    pub(super) fn is_out_of_time(&mut self) -> bool {
        let is_out = self.keeper.now() >= self.until || self.keeper.stopped().is_some();
        if is_out {
            self.seen.gave_up = Some(OUT_OF_TIME);
        }
        is_out
    }

    pub(super) fn has_child(&self) -> bool {
        self.child.is_some()
    }

    /// Starts a fresh child with this letter, or the next free one, while there is time.
    pub(super) fn start(&mut self, letter: Option<char>) -> bool {
        if self.is_out_of_time() {
            return false;
        }
        let id = letter.unwrap_or_else(|| {
            let id = self.next_child;
            self.next_child = letter_behind(id);
            id
        });
        match self.keeper.start(self.launch) {
            Ok(()) => {
                self.child = Some(Child {
                    id,
                    started: self.keeper.now(),
                    frames: 0,
                    is_legacy: false,
                    number: 0,
                    has_written: false,
                    spent: Vec::new(),
                });
                true
            }
            Err(why) => {
                self.seen.unstartable = why;
                false
            }
        }
    }

    /// The handshake has begun: from now on the child may ask.
    pub(super) fn speak_legacy(&mut self) {
        if let Some(child) = &mut self.child {
            child.is_legacy = true;
        }
    }

    /// Ends the child; it has so many milliseconds after its input closes. How it ended.
    pub(super) fn end(&mut self, patience_ms: u64) -> Option<How> {
        self.child.as_ref()?;
        self.keeper.end(patience_ms);
        let mut count = 0;
        let ended = loop {
            match self.keeper.hear_last() {
                Last::Ended(ended) => break ended,
                Last::Piece(_) if count >= MOST_REST => self.count_line(),
                // It was ended in the middle of it.
                Last::Piece(Piece::Line(line)) if !line.ended => self.count_line(),
                Last::Piece(Piece::Overlong) => self.note_overlong(),
                Last::Piece(piece @ Piece::Line(_)) => {
                    self.note(piece, None);
                }
            }
            count += 1;
        };
        let child = self.child.take()?;
        self.seen.children.push(ChildNote {
            id: child.id,
            is_wrapped: self.seen.is_wrapped,
            ms: self.keeper.now().since(child.started),
            frames: child.frames,
            exit: ended.exit,
            ended: ended.how,
        });
        Some(ended.how)
    }

    // ---- out ----

    /// Sends a notification.
    pub(super) fn tell(&mut self, method: &'static str, params: &str) {
        self.send(wire::notification(method, params));
    }

    pub(super) fn send(&mut self, line: Vec<u8>) -> Option<Frame> {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        self.keeper.say(line);
        self.frame(&text, true)
    }

    fn count_line(&mut self) {
        if let Some(child) = &mut self.child {
            child.frames += 1;
        }
    }

    pub(super) fn frame(&mut self, text: &str, is_ours: bool) -> Option<Frame> {
        self.count_line();
        let now = self.keeper.now();
        let child = self.child.as_ref()?;
        let kept = masked_start(text, Frame::KEPT, &self.seen.secrets);
        let bytes = if text.len() <= Frame::KEPT { kept.len() } else { text.len() };
        let (child, ms) = (child.id, now.since(child.started));
        Some(Frame { child, ms, is_ours, text: kept, bytes })
    }

    /// An id that was not used before, now a number and now a string.
    fn fresh_id(&mut self) -> String {
        let Some(child) = &mut self.child else { return String::new() };
        child.number += 1;
        let number = child.number.to_string();
        if child.number % 2 == 1 { number } else { format!("\"s{number}\"") }
    }

    fn request(
        &mut self,
        method: &str,
        members: &str,
        envelope: Envelope<'_>,
    ) -> (String, Option<Frame>) {
        let id = self.fresh_id();
        let frame = self.send(envelope::line(&id, method, members, envelope));
        (id, frame)
    }

    // ---- and back ----

    /// Sends a request and waits for its answer. `None`: there was no time left to wait for it.
    pub(super) fn ask(
        &mut self,
        method: &'static str,
        members: &str,
        envelope: Envelope<'_>,
    ) -> Option<Probe> {
        self.ask_whole(method, members, envelope).map(Probe::bounded)
    }

    /// The same, with all of an answer of any size.
    pub(super) fn ask_whole(
        &mut self,
        method: &'static str,
        members: &str,
        envelope: Envelope<'_>,
    ) -> Option<Probe> {
        let exchange = self.exchange(method, members, envelope)?;
        self.note_mark(method, &exchange.probe.reply);
        Some(exchange.probe)
    }

    /// Opens a stream: the first message for it, an acknowledgement with its parameters or an answer.
    pub(super) fn listen(&mut self, members: &str) -> Option<Exchange> {
        let exchange = self.exchange("subscriptions/listen", members, Envelope::Whole)?;
        Some(Exchange { probe: exchange.probe.bounded(), ..exchange })
    }

    fn exchange(
        &mut self,
        method: &'static str,
        members: &str,
        envelope: Envelope<'_>,
    ) -> Option<Exchange> {
        let (id, frame) = self.request(method, members, envelope);
        let mut frames: Vec<_> = frame.into_iter().collect();
        let patience_ms = self.patience();
        let waits_ms = patience_ms.min(self.until.since(self.keeper.now()));
        let mut acknowledged = None;
        let found = self.hear(waits_ms, Some(&id));
        self.note_start(waits_ms == patience_ms);
        let reply = match found {
            Found::Answer(frame, reply) => {
                frames.push(frame);
                self.spend(&id, method, true);
                reply
            }
            Found::Acknowledged(frame, params) => {
                frames.push(frame);
                self.spend(&id, method, false);
                acknowledged = Some(params);
                Reply::Silence(waits_ms)
            }
            Found::Nothing => {
                self.spend(&id, method, false);
                // Who was not given the time of others did not fail to answer.
                if self.child.is_some() && waits_ms < patience_ms && self.is_out_of_time() {
                    return None;
                }
                if self.child.is_some() || std::mem::take(&mut self.was_cut_off) {
                    Reply::Silence(waits_ms)
                } else {
                    self.seen.deaths.push((method, frames.clone()));
                    Reply::Exited
                }
            }
        };
        let mut words = reply.words(&self.seen.secrets);
        if self.seen.is_wrapped {
            words = in_our_words(&words);
        }
        Some(Exchange { probe: Probe { method, reply, words, frames }, acknowledged, id })
    }

    /// Closes a stream; what follows of it is a fault. True where nothing did.
    pub(super) fn close_stream(&mut self, id: &str) -> bool {
        self.tell("notifications/cancelled", &format!("{{\"requestId\":{id}}}"));
        self.closed_stream = Some(id.to_owned());
        self.pause(CLOSED_MS);
        self.closed_stream.take().is_some()
    }

    /// Listens for a while without having asked anything; whatever comes is noted.
    pub(super) fn pause(&mut self, ms: u64) {
        self.hear(ms, None);
    }

    /// The first request of a process was answered, or the time is over that it has to start.
    fn note_start(&mut self, had_its_time: bool) {
        let Some(child) = self.child.as_ref().filter(|child| child.number == 1) else { return };
        if child.has_written {
            self.seen.was_heard_at_start = true;
        } else if had_its_time {
            self.seen.was_mute_at_start = true;
        }
    }

    /// How long to wait for an answer: longer for the first one of a process.
    fn patience(&self) -> u64 {
        let is_first = self.child.as_ref().is_some_and(|child| child.number <= 1);
        if is_first { self.start_timeout_ms } else { self.timeout_ms }
    }

    /// The same for the next request, in this process or the one that will be started.
    pub(super) fn next_patience(&self) -> u64 {
        let is_first = self.child.as_ref().is_none_or(|child| child.number == 0);
        if is_first { self.start_timeout_ms } else { self.timeout_ms }
    }

    pub(super) fn spend(&mut self, id: &str, method: &'static str, is_answered: bool) {
        if let Some(child) = &mut self.child {
            child.spent.push(Spent { id: id.to_owned(), method, is_answered });
        }
    }

    /// Takes note of what comes within so many milliseconds, or until the open request with this id
    /// has its answer.
    fn hear(&mut self, ms: u64, open: Option<&str>) -> Found {
        let until = self.keeper.now().after(ms);
        loop {
            match self.keeper.hear(until) {
                Heard::Piece(piece) => match self.note(piece, open) {
                    Found::Nothing => {}
                    found @ (Found::Answer(..) | Found::Acknowledged(..)) => return found,
                },
                Heard::Closed => {
                    self.end(ENDS_MS);
                    return Found::Nothing;
                }
                Heard::Nothing | Heard::Stopped => return Found::Nothing,
            }
        }
    }
}

/// The next name of a process. Whoever has more than there are letters has several of the last one.
fn letter_behind(letter: char) -> char {
    match letter {
        'Z' => 'a',
        'z' => 'z',
        _ => char::from_u32(u32::from(letter) + 1).unwrap_or('z'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_have_letters() {
        let mut letter = 'E';
        for _ in 0..200 {
            assert!(letter.is_ascii_alphabetic(), "{letter:?}");
            letter = letter_behind(letter);
        }
        assert_eq!((letter_behind('E'), letter_behind('Z'), letter), ('F', 'a', 'z'));
    }
}
