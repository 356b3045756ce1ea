//! Streams of changes, and what is subscribed for them (G).

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::super::json::Json;
use super::super::talk::{Ask, Filter, Topic};
use super::super::words::P_STREAM;
use super::session::Purpose;
use super::{Check, Ledger, broken, ensure};

const OPENING_MS: u64 = 8000;

#[derive(Debug)]
struct Stream {
    asked: Filter,
    /// What it was promised, as far as the present process can keep it.
    honoured: Option<Filter>,
    /// URIs that the server refused while it was opening, or on a restart.
    refused: BTreeSet<String>,
    since: u64,
    /// Notices that must go down as soon as they may.
    kept: BTreeSet<Topic>,
    /// Notices from before a restart, of what it does not get any more: they may go down.
    stale: BTreeSet<Topic>,
    /// After a restart: it is told everything once its URIs are subscribed again (G14).
    is_reviving: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watch {
    Asked(u64),
    Granted,
}

#[derive(Debug, Default)]
pub(super) struct Streams {
    open: BTreeMap<String, Stream>,
    watches: BTreeMap<String, Watch>,
    /// Copies that must go down in this event.
    due: Vec<(String, Topic)>,
    to_unsubscribe: Vec<String>,
}

impl Stream {
    /// URIs that it wants watched.
    fn uris(&self) -> impl Iterator<Item = &String> {
        let wanted = self.honoured.as_ref().unwrap_or(&self.asked);
        wanted.uris.iter().filter(|uri| !self.refused.contains(*uri))
    }

    /// A restart narrowed it: what it does not get any more it need not be told (G14).
    fn narrow_kept(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        let (kept, stale) = kept.into_iter().partition(|topic| self.wants(topic));
        self.kept = kept;
        self.stale = stale;
    }

    /// What it turned out not to get it is not told.
    fn forget_unwanted(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        self.kept = kept.into_iter().filter(|topic| self.wants(topic)).collect();
    }

    fn wants(&self, topic: &Topic) -> bool {
        let wanted = self.honoured.as_ref().unwrap_or(&self.asked);
        match topic {
            Topic::Tools => wanted.tools,
            Topic::Prompts => wanted.prompts,
            Topic::Resources => wanted.resources,
            Topic::Updated(uri) => self.uris().any(|watched| is_within(uri, watched)),
        }
    }
}

/// The watched URI or one below it (G9).
fn is_within(uri: &str, watched: &str) -> bool {
    let rest = uri.strip_prefix(watched);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || watched.ends_with('/'))
}

impl Streams {
    pub(super) fn count_others(&self, id: &str) -> usize {
        self.open.keys().filter(|known| *known != id).count()
    }

    fn is_asked(&self, uri: &str) -> bool {
        matches!(self.watches.get(uri), Some(Watch::Asked(_)))
    }

    /// Is this stream not acknowledged yet?
    pub(super) fn waits(&self, id: &str) -> bool {
        self.open.get(id).is_some_and(|stream| stream.honoured.is_none())
    }

    pub(super) fn is_opening(&self) -> bool {
        self.open.values().any(|stream| stream.honoured.is_none())
    }
}

impl Ledger {
    pub(super) fn stream_asked(&mut self, ask: &Rc<Ask>) {
        let asked = ask.filter.clone().unwrap_or_default();
        let stream = Stream {
            asked,
            honoured: None,
            refused: BTreeSet::new(),
            since: self.now,
            kept: BTreeSet::new(),
            stale: BTreeSet::new(),
            is_reviving: false,
        };
        self.streams.open.insert(ask.id.clone(), stream);
    }

    /// What the server can do of a filter (G3).
    fn narrowed(&self, filter: &Filter) -> Filter {
        let offers = &self.session.offers;
        Filter {
            tools: filter.tools && offers.tools_changed,
            prompts: filter.prompts && offers.prompts_changed,
            resources: filter.resources && offers.resources_changed,
            uris: if offers.subscribe { filter.uris.clone() } else { Vec::new() },
        }
    }

    pub(super) fn subscribes(&mut self, id: u64, uri: &str) -> Check {
        ensure(self.session.offers.subscribe, "G3-subscribe-only-where-offered", || {
            uri.to_owned()
        })?;
        ensure(!self.streams.watches.contains_key(uri), "G7-one-subscription", || uri.to_owned())?;
        let is_wanted = self.streams.open.values().any(|s| s.uris().any(|known| known == uri));
        ensure(is_wanted, "G7-only-what-is-watched", || uri.to_owned())?;
        self.streams.watches.insert(uri.to_owned(), Watch::Asked(id));
        self.book_id(id, Purpose::Subscribe(uri.to_owned()))
    }

    pub(super) fn subscription_answered(&mut self, id: u64, uri: &str, is_granted: bool) {
        if self.streams.watches.get(uri) != Some(&Watch::Asked(id)) {
            return;
        }
        if is_granted {
            self.streams.watches.insert(uri.to_owned(), Watch::Granted);
        } else {
            self.subscription_failed(uri);
        }
    }

    fn subscription_failed(&mut self, uri: &str) {
        self.streams.watches.remove(uri);
        for stream in self.streams.open.values_mut() {
            stream.refused.insert(uri.to_owned());
        }
    }

    pub(super) fn unsubscribes(&mut self, id: u64, uri: &str) -> Check {
        let was_due = self.streams.to_unsubscribe.iter().position(|due| due == uri);
        let Some(at) = was_due else {
            return broken("G7-unsubscribed-by-the-last", uri.to_owned());
        };
        self.streams.to_unsubscribe.remove(at);
        self.book_id(id, Purpose::Unsubscribe)
    }

    /// The client does not want it any more (G12).
    pub(super) fn stream_cancelled(&mut self, id: &str) {
        if self.streams.open.remove(id).is_none() {
            return;
        }
        let streams = &mut self.streams;
        let named =
            |uri: &String| streams.open.values().any(|s| s.uris().any(|known| known == uri));
        let gone: Vec<_> = streams.watches.keys().filter(|uri| !named(uri)).cloned().collect();
        for uri in &gone {
            streams.watches.remove(uri);
        }
        if self.is_ready() {
            self.streams.to_unsubscribe.extend(gone);
        }
    }

    pub(super) fn stream_refused(&mut self, ask: &Ask, code: i64) -> Check {
        let Some(stream) = self.streams.open.get(&ask.id) else { return Ok(()) };
        ensure(stream.honoured.is_none(), "G13-a-stream-ends-with-a-result", || format!("{code}"))?;
        self.streams.open.remove(&ask.id);
        Ok(())
    }

    /// The end of a stream, said by the bridge (G13).
    pub(super) fn stream_closed(&mut self, id: &str, result: &Json) -> Check {
        let Some(stream) = self.streams.open.remove(id) else {
            return broken("G-a-stream-that-is-open", id.to_owned());
        };
        ensure(stream.honoured.is_some(), "G4-acknowledged-first", || id.to_owned())?;
        let is_kept_back = stream.is_reviving || self.batch.is_stopping;
        ensure(stream.kept.is_empty() || is_kept_back, "G10-nothing-is-lost", || {
            format!("{:?}", stream.kept)
        })?;
        let named = result.get("_meta").and_then(|meta| meta.get(P_STREAM)).map(Json::to_text);
        ensure(named.as_deref() == Some(id), "G13-names-the-stream", || result.short(200))?;
        if self.streams.open.is_empty() {
            self.streams.watches.clear();
        }
        Ok(())
    }

    pub(super) fn acknowledged(&mut self, params: &Json) -> Check {
        let text = || params.short(300);
        let id = stream_id(params);
        let granted = params.get("notifications");
        let flag =
            |name: &str| granted.and_then(|g| g.get(name)).and_then(Json::as_bool) == Some(true);
        let uris = granted.and_then(|g| g.get("resourceSubscriptions")).and_then(Json::items);
        let uris: Vec<_> = uris.unwrap_or_default().iter().filter_map(Json::text).collect();
        let Some(stream) = self.streams.open.get(&id) else {
            return broken("G4-a-stream-that-is-open", text());
        };
        ensure(stream.honoured.is_none(), "G4-acknowledged-once", text)?;
        let open = self.streams.open.values().filter(|s| s.honoured.is_some()).count();
        ensure(open < self.settings.limits.subscriptions, "R-streams", text)?;
        let most = self.settings.limits.subscription_uris;
        ensure(stream.asked.uris.len() <= most, "G2-uris", text)?;
        let mut most = self.narrowed(&stream.asked);
        most.uris.retain(|uri| !stream.refused.contains(uri));
        ensure(flag("toolsListChanged") == most.tools, "G3-honoured-subset", text)?;
        ensure(flag("promptsListChanged") == most.prompts, "G3-honoured-subset", text)?;
        ensure(flag("resourcesListChanged") == most.resources, "G3-honoured-subset", text)?;
        let granted = |uri: &String| self.streams.watches.get(uri) == Some(&Watch::Granted);
        let expected: Vec<_> = most.uris.iter().filter(|uri| granted(uri)).cloned().collect();
        let is_same =
            expected.len() == uris.len() && expected.iter().all(|uri| uris.contains(&uri.as_str()));
        ensure(is_same, "G6-granted-uris", || format!("{expected:?}: {}", text()))?;
        let late: Vec<_> =
            most.uris.iter().filter(|uri| self.streams.is_asked(uri)).cloned().collect();
        for uri in late {
            self.subscription_failed(&uri);
        }
        if let Some(stream) = self.streams.open.get_mut(&id) {
            stream.honoured = Some(Filter { uris: expected, ..most });
            stream.forget_unwanted();
        }
        Ok(())
    }

    pub(super) fn server_changed(&mut self, topic: &Topic) {
        self.lists_changed(topic);
        let (is_slow, is_ready) = (self.is_slow, self.is_ready());
        let offers = Rc::clone(&self.session.offers);
        for (id, stream) in &mut self.streams.open {
            let is_offered = match topic {
                Topic::Tools => offers.tools_changed,
                Topic::Prompts => offers.prompts_changed,
                Topic::Resources => offers.resources_changed,
                Topic::Updated(_) => offers.subscribe,
            };
            if !stream.wants(topic) || !(is_offered || stream.is_reviving && !is_ready) {
                continue;
            }
            if stream.is_reviving && !is_ready {
                // It is told all anew once the process is ready; this may go down before.
                stream.stale.insert(topic.clone());
            } else if stream.honoured.is_none() || stream.is_reviving || is_slow {
                stream.kept.insert(topic.clone());
            } else {
                self.streams.due.push((id.clone(), topic.clone()));
            }
        }
    }

    /// A change notification downward.
    pub(super) fn change_down(&mut self, method: &str, params: &Json) -> Check {
        let text = || format!("{method} {}", params.short(200));
        let id = stream_id(params);
        let topic = match method {
            "notifications/tools/list_changed" => Topic::Tools,
            "notifications/prompts/list_changed" => Topic::Prompts,
            "notifications/resources/list_changed" => Topic::Resources,
            _ => {
                let uri = params.get("uri").and_then(Json::text).unwrap_or_default();
                Topic::Updated(uri.to_owned())
            }
        };
        let copy = (id.clone(), topic.clone());
        if let Some(at) = self.streams.due.iter().position(|due| *due == copy) {
            self.streams.due.remove(at);
            return Ok(());
        }
        let may_flush =
            !self.is_slow || self.is_draining() || self.batch.is_stopping || !self.is_running();
        let Some(stream) = self.streams.open.get_mut(&id) else {
            return broken("G12-nothing-after-the-end", text());
        };
        ensure(stream.honoured.is_some(), "G4-acknowledged-first", text)?;
        ensure(may_flush, "R-merged-while-slow", text)?;
        ensure(
            stream.kept.remove(&topic) || stream.stale.remove(&topic),
            "G8-nothing-of-its-own",
            text,
        )
    }

    pub(super) fn streams_lost(&mut self) {
        self.streams.watches.clear();
        self.streams.due.clear();
        self.streams.to_unsubscribe.clear();
        for stream in self.streams.open.values_mut() {
            let refused = std::mem::take(&mut stream.refused);
            if let Some(honoured) = &mut stream.honoured {
                // What was refused after the acknowledgement is not asked for again.
                honoured.uris.retain(|uri| !refused.contains(uri));
            }
            stream.is_reviving = stream.honoured.is_some();
        }
    }

    /// A new process serves the streams: they are narrowed to what it can do (G14).
    pub(super) fn revive(&mut self) {
        let ids: Vec<_> = self.streams.open.keys().cloned().collect();
        for id in ids {
            let Some(stream) = self.streams.open.get(&id) else { continue };
            let Some(honoured) = stream.honoured.clone().filter(|_| stream.is_reviving) else {
                continue;
            };
            let narrowed = self.narrowed(&honoured);
            if let Some(stream) = self.streams.open.get_mut(&id) {
                stream.honoured = Some(narrowed);
                stream.narrow_kept();
            }
        }
    }

    /// Before the effects of an event are booked: streams that have nothing to wait for any more
    /// are told everything.
    pub(super) fn settle_revived(&mut self) {
        // A process whose time is up is ended first.
        if !self.is_ready() || self.is_closed_too_long() {
            return;
        }
        let is_over = self.ready_at + OPENING_MS <= self.now;
        let mut failed = Vec::new();
        for stream in self.streams.open.values_mut().filter(|stream| stream.is_reviving) {
            let asked: Vec<_> = stream
                .uris()
                .filter(|uri| !matches!(self.streams.watches.get(*uri), Some(Watch::Granted)))
                .cloned()
                .collect();
            if !asked.is_empty() && !is_over {
                continue;
            }
            failed.extend(asked.iter().cloned());
            stream.refused.extend(asked);
            stream.is_reviving = false;
            stream.forget_unwanted();
            let honoured = stream.honoured.clone().unwrap_or_default();
            let lists = [
                (honoured.tools, Topic::Tools),
                (honoured.prompts, Topic::Prompts),
                (honoured.resources, Topic::Resources),
            ];
            stream.kept.extend(lists.into_iter().filter(|(is, _)| *is).map(|(_, topic)| topic));
            let uris: Vec<_> = stream.uris().cloned().collect();
            stream.kept.extend(uris.into_iter().map(Topic::Updated));
        }
        for uri in failed {
            self.subscription_failed(&uri);
        }
    }

    /// At the end of an event: every copy went down, every stream that can be open is.
    pub(super) fn check_streams(&self) -> Check {
        let streams = &self.streams;
        if let Some(due) = streams.due.first() {
            return broken("G8-a-copy-for-each-stream", format!("{due:?}"));
        }
        if let Some(uri) = streams.to_unsubscribe.first() {
            return broken("G7-unsubscribed-by-the-last", format!("{uri} stays subscribed"));
        }
        for (id, stream) in &streams.open {
            if stream.honoured.is_some() {
                let is_held_back = self.is_slow || stream.is_reviving;
                ensure(stream.kept.is_empty() || is_held_back, "G10-nothing-is-lost", || {
                    format!("{id}: {:?}", stream.kept)
                })?;
            } else if self.is_ready() {
                let since = stream.since.max(self.ready_at);
                let waits = stream.uris().any(|uri| streams.is_asked(uri));
                ensure(waits && since + OPENING_MS > self.now, "G4-acknowledged-in-time", || {
                    format!("{id}: {stream:?}")
                })?;
            }
        }
        Ok(())
    }
}

/// The stream that a notification names, as JSON text.
fn stream_id(params: &Json) -> String {
    let id = params.get("_meta").and_then(|meta| meta.get(P_STREAM));
    id.map(Json::to_text).unwrap_or_default()
}
