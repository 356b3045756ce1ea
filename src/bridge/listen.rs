//! Streams of change notices, and which resources are watched for them (G).
//!
//! ```text
//!   Opening ──▶ Open ──▶ gone
//!                │ ▲
//!        restart ▼ │
//!              Reviving
//! ```
//! An opening or reviving stream waits for the subscriptions of its URIs; changes gather meanwhile
//! and follow the acknowledgement.
//!
//! ```text
//!   refused or silent ◀── Asked ──▶ Granted      (one URI, however many streams)
//! ```
//! A URI is subscribed once upstream, however many streams watch it. Knows no server but by the
//! ids of its own requests, reads no clock, sends nothing.

use super::event::Time;
use super::ids::ServerId;
use super::table::Table;
use crate::bounds::MOST_KEPT;
use crate::message::notes::{self, Filter};
use crate::message::object::Object;
use crate::message::wire::Id;
use crate::message::writer::quoted;

/// How long a stream waits for its subscriptions before it goes on without the missing (G6).
pub(super) const OPENING_MS: u64 = 8000;

/// What a stream may be told.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Topic {
    Tools,
    Prompts,
    Resources,
    /// `notifications/resources/updated` for this URI.
    Updated(String),
}

impl Topic {
    pub(super) fn method(&self) -> &'static str {
        match self {
            Topic::Tools => "notifications/tools/list_changed",
            Topic::Prompts => "notifications/prompts/list_changed",
            Topic::Resources => "notifications/resources/list_changed",
            Topic::Updated(_) => "notifications/resources/updated",
        }
    }
}

impl Topic {
    /// The parameters of its notification with nothing but what they must have.
    pub(super) fn plainly(&self, stream: &Id) -> String {
        let text = match self {
            Topic::Updated(uri) => format!("{{\"uri\":{}}}", quoted(uri)),
            Topic::Tools | Topic::Prompts | Topic::Resources => "{}".into(),
        };
        notes::change(Object::parse(&text).as_ref(), stream.text())
    }
}

/// How far a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Not acknowledged yet; waits for its subscriptions until then at most (G6).
    Opening(Time),
    /// Acknowledged.
    Open,
    /// Acknowledged, and subscribing anew after a restart (G14).
    Reviving(Time),
}

impl Stage {
    /// Until when it waits, if it does.
    fn waits_until(self) -> Option<Time> {
        match self {
            Stage::Opening(until) | Stage::Reviving(until) => Some(until),
            Stage::Open => None,
        }
    }
}

/// One `subscriptions/listen` request, open until it is cancelled or closed.
#[derive(Debug)]
pub(super) struct Stream {
    /// What was asked for; a restart narrows it anew (G14).
    pub(super) asked: Filter,
    /// What the server can do of it.
    pub(super) honoured: Filter,
    pub(super) stage: Stage,
    /// Changes that may not go down yet, merged (G6, G10): the parameters as they will go down.
    pub(super) kept: Table<Topic, String>,
}

impl Stream {
    /// What was kept and may still be told: not what belongs to a URI that was not granted in the
    /// end (G8), and nothing while that is open.
    pub(super) fn take_kept(&mut self) -> Vec<(Topic, String)> {
        let mut kept = self.kept.take();
        kept.retain(|(topic, _)| self.stage == Stage::Open && self.wants(topic));
        kept
    }

    /// Keeps a change that may not go down yet. Equal changes are one; the last one is what counts
    /// (G10).
    pub(super) fn keep(&mut self, id: &Id, topic: &Topic, params: String) {
        if self.kept_bytes() + params.len() <= MOST_KEPT {
            return self.kept.insert(topic.clone(), params);
        }
        let watched = match topic {
            Topic::Updated(uri) => {
                self.honoured.uris.iter().find(|watched| is_within(uri, watched))
            }
            Topic::Tools | Topic::Prompts | Topic::Resources => None,
        };
        let topic = watched.map_or(topic.clone(), |watched| Topic::Updated(watched.clone()));
        let params = topic.plainly(id);
        self.kept.insert(topic, params);
    }

    /// Bytes of what is kept.
    pub(super) fn kept_bytes(&self) -> usize {
        self.kept.values().map(String::len).sum()
    }

    /// Does it want to hear this (G8, G9)?
    pub(super) fn wants(&self, topic: &Topic) -> bool {
        match topic {
            Topic::Tools => self.honoured.tools,
            Topic::Prompts => self.honoured.prompts,
            Topic::Resources => self.honoured.resources,
            Topic::Updated(uri) => self.honoured.uris.iter().any(|watched| is_within(uri, watched)),
        }
    }
}

/// Is it the watched URI, or one below it (G9)?
fn is_within(uri: &str, watched: &str) -> bool {
    uri.strip_prefix(watched)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || watched.ends_with('/'))
}

/// How far the subscription of a URI is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watch {
    /// `resources/subscribe` is out under this id.
    Asked(ServerId),
    Granted,
}

#[derive(Debug, Default)]
pub(super) struct Listen {
    pub(super) streams: Table<Id, Stream>,
    watched: Table<String, Watch>,
}

impl Listen {
    /// URIs that must be subscribed because nobody watches them yet (G7).
    pub(super) fn unwatched(&self, uris: &[String]) -> Vec<String> {
        uris.iter().filter(|uri| !self.watched.contains_key(*uri)).cloned().collect()
    }

    /// The subscription of a URI is out.
    pub(super) fn asked(&mut self, uri: String, id: ServerId) {
        self.watched.insert(uri, Watch::Asked(id));
    }

    /// The server answered a subscription. A refused URI is watched by no stream (G6, G7).
    pub(super) fn answered(&mut self, id: ServerId, is_granted: bool) {
        let asked = self.watched.iter().find(|(_, watch)| **watch == Watch::Asked(id));
        let Some(uri) = asked.map(|(uri, _)| uri.clone()) else { return };
        if is_granted {
            return self.watched.insert(uri, Watch::Granted);
        }
        self.watched.remove(&uri);
        for stream in self.streams.values_mut() {
            stream.honoured.uris.retain(|watched| *watched != uri);
        }
    }

    /// A stream that has nothing left to wait for, or has waited long enough.
    pub(super) fn settled(&self, now: Time) -> Option<Id> {
        let is_granted = |uri: &String| self.watched.get(uri) == Some(&Watch::Granted);
        let due = |stream: &Stream| {
            let until = stream.stage.waits_until();
            until.is_some_and(|until| until <= now || stream.honoured.uris.iter().all(is_granted))
        };
        self.streams.iter().find(|(_, stream)| due(stream)).map(|(id, _)| id.clone())
    }

    /// Takes from a stream, and from all others, the URIs that were not granted in time (G6); the
    /// subscriptions that are still unanswered.
    pub(super) fn give_up_ungranted(&mut self, stream: &Id) -> Vec<ServerId> {
        let Some(stream) = self.streams.get(stream) else { return Vec::new() };
        let is_granted = |uri: &&String| self.watched.get(*uri) == Some(&Watch::Granted);
        let late: Vec<_> =
            stream.honoured.uris.iter().filter(|uri| !is_granted(uri)).cloned().collect();
        let mut unanswered = Vec::new();
        for uri in late {
            if let Some(Watch::Asked(id)) = self.watched.remove(&uri) {
                unanswered.push(id);
            }
            for stream in self.streams.values_mut() {
                stream.honoured.uris.retain(|watched| *watched != uri);
            }
        }
        unanswered
    }

    /// Ends a stream: the URIs that nobody watches any more. `None`: there is no such stream.
    pub(super) fn remove(&mut self, id: &Id) -> Option<Vec<(String, Watch)>> {
        self.streams.remove(id)?;
        Some(self.drop_unwatched())
    }

    /// Forgets URIs that no stream names and gives them back, to be unsubscribed (G7).
    fn drop_unwatched(&mut self) -> Vec<(String, Watch)> {
        let streams = &self.streams;
        let is_named =
            |uri: &String, _: &Watch| streams.values().any(|s| s.honoured.uris.contains(uri));
        self.watched.take_unless(is_named)
    }

    /// Bytes of what all streams keep.
    pub(super) fn kept_bytes(&self) -> usize {
        self.streams.values().map(Stream::kept_bytes).sum()
    }

    /// Is a stream still without its acknowledgement?
    pub(super) fn is_opening(&self) -> bool {
        self.streams.values().any(|stream| matches!(stream.stage, Stage::Opening(_)))
    }

    /// A new process has subscribed to nothing (G14).
    pub(super) fn forget_watches(&mut self) {
        self.watched.take();
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.streams.values().filter_map(|stream| stream.stage.waits_until()).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(uris: &[&str]) -> Stream {
        let filter =
            Filter { uris: uris.iter().map(ToString::to_string).collect(), ..Filter::default() };
        Stream {
            asked: filter.clone(),
            honoured: filter,
            stage: Stage::Opening(Time(9)),
            kept: Table::default(),
        }
    }

    #[test]
    fn sub_resources_count() {
        for (uri, watched, expected) in [
            ("file:///a", "file:///a", true),
            ("file:///a/b", "file:///a", true),
            ("file:///a/b", "file:///a/", true),
            ("file:///ab", "file:///a", false),
            ("file:///", "file:///a", false),
        ] {
            assert_eq!(is_within(uri, watched), expected, "{uri} {watched}");
        }
    }

    #[test]
    fn one_subscription_for_many_streams() {
        let mut listen = Listen::default();
        let (a, b) = (Id::read("1").unwrap(), Id::read("2").unwrap());
        assert_eq!(listen.unwatched(&["x".into(), "y".into()]), ["x", "y"]);
        listen.asked("x".into(), ServerId(1));
        listen.asked("y".into(), ServerId(2));
        listen.streams.insert(a.clone(), stream(&["x", "y"]));
        assert!(listen.unwatched(&["x".into()]).is_empty());
        listen.streams.insert(b.clone(), stream(&["x"]));
        assert_eq!(listen.settled(Time(0)), None);
        listen.answered(ServerId(7), false);
        listen.answered(ServerId(1), true);
        assert_eq!(listen.settled(Time(0)), Some(b.clone()));
        listen.answered(ServerId(2), false);
        assert_eq!(listen.settled(Time(0)), Some(a.clone()));
        assert_eq!(listen.remove(&a), Some(vec![]));
        let left = listen.remove(&b).unwrap_or_default();
        assert!(
            matches!(&left[..], [(uri, Watch::Asked(_) | Watch::Granted)] if uri == "x"),
            "{left:?}"
        );
        assert_eq!(listen.remove(&b), None);
    }
}
