//! Streams on their way: opening, telling changes, closing, and living through a restart (G).

use super::Bridge;
use super::event::Frame;
use super::front::{Held, Leg, Seat};
use super::ids::ServerId;
use super::listen::{OPENING_MS, Stage, Stream, Topic, Watch};
use super::table::Table;
use super::upstream::Purpose;
use crate::bounds::MOST_URI_BYTES;
use crate::message::body::Body;
use crate::message::discover::Offers;
use crate::message::notes::{self, Filter};
use crate::message::refusal::Refusal;
use crate::message::splice::Common;
use crate::message::vocabulary::key;
use crate::message::wire::{self, Id};
use crate::message::writer::{Writer, quoted};

impl Bridge {
    /// A `subscriptions/listen` whose envelope is good (G1, G2).
    pub(super) fn admit_stream(&mut self, held: Held) {
        let Held { leg, request, .. } = held;
        self.front.leave(&leg.id);
        if self.listen.streams.len() >= self.settings.limits.subscriptions {
            return self.refuse_line(Some(&leg.id), &Refusal::TooManyStreams);
        }
        let most = self.settings.limits.subscription_uris;
        let asked = match notes::filter(&request.params()) {
            Ok(filter) if filter.uris.len() > most => {
                let text =
                    format!("more than {most} resourceSubscriptions (see --max-subscription-uris)");
                return self.refuse_line(Some(&leg.id), &Refusal::Params(text));
            }
            Ok(filter) if filter.uris.iter().map(String::len).sum::<usize>() > MOST_URI_BYTES => {
                let text = "resourceSubscriptions is longer than 128 KiB".into();
                return self.refuse_line(Some(&leg.id), &Refusal::Params(text));
            }
            Ok(filter) => filter,
            Err(refusal) => return self.refuse_line(Some(&leg.id), &refusal),
        };
        let Leg { id, .. } = leg;
        self.front.sit(&id, Seat::Stream);
        let honoured = self.honoured(&asked);
        self.subscribe(&honoured.uris);
        let stage = Stage::Opening(self.now.after(OPENING_MS));
        self.listen.streams.insert(id, Stream { asked, honoured, stage, kept: Table::default() });
        self.settle_streams();
    }

    /// What of a filter the server can do (G3).
    fn honoured(&self, asked: &Filter) -> Filter {
        let offers = self.upstream.ready_profile().map_or(Offers::default(), |p| p.offers);
        Filter {
            tools: asked.tools && offers.tools_changed,
            prompts: asked.prompts && offers.prompts_changed,
            resources: asked.resources && offers.resources_changed,
            uris: if offers.subscribe { asked.uris.clone() } else { Vec::new() },
        }
    }

    /// Asks the server for the changes of those URIs that nobody watches yet (G6, G7).
    fn subscribe(&mut self, uris: &[String]) {
        for uri in self.listen.unwatched(uris) {
            let id = self.upstream.expect(Purpose::Subscribe);
            let params = format!("{{\"uri\":{}}}", quoted(&uri));
            self.listen.asked(uri, id);
            self.tell_server(wire::request(id.0, "resources/subscribe", &params));
        }
    }

    /// The server's answer to a subscription.
    pub(super) fn subscribed(&mut self, id: ServerId, outcome: &Result<Body<'_>, Body<'_>>) {
        self.listen.answered(id, matches!(outcome, Ok(Body::Object(_))));
        self.settle_streams();
    }

    /// Opens every stream that waits for nothing any more (G4, G6, G14).
    pub(super) fn settle_streams(&mut self) {
        if !self.upstream.is_ready() {
            return; // only the process that will serve it can tell what it gets
        }
        // One at a time: giving up a URI may settle another stream.
        while let Some(id) = self.listen.settled(self.now) {
            for late in self.listen.give_up_ungranted(&id) {
                self.upstream.take(late);
            }
            let Some(stream) = self.listen.streams.get_mut(&id) else { return };
            let stage = std::mem::replace(&mut stream.stage, Stage::Open);
            if let Stage::Reviving(_) = stage {
                self.announce_restart(&id);
                continue;
            }
            let mut params = String::new();
            let mut ack = Writer::new(&mut params);
            ack.raw("_meta", &format!("{{\"{}\":{}}}", key::SUBSCRIPTION_ID, id.text()));
            stream.honoured.write(ack.open("notifications"));
            ack.end();
            self.tell_client(wire::notification(
                "notifications/subscriptions/acknowledged",
                &params,
            ));
            self.flush_stream(&id);
        }
    }

    /// A change notification of the server (G8).
    pub(super) fn changed(&mut self, topic: &Topic, params: &Body<'_>) {
        let params = match params {
            Body::Object(params) => Some(params),
            Body::Absent | Body::Null | Body::Other => None,
        };
        if !self.listen.streams.values().any(|stream| stream.wants(topic)) {
            return;
        }
        let mut lines = Vec::new();
        let mut head = String::new();
        wire::notification_head(&mut head, topic.method());
        head.push_str(&notes::change_for_all(params));
        let (head, end) = (Common::new(head), [notes::CHANGE_END, wire::END].concat());
        for (id, stream) in self.listen.streams.iter_mut() {
            if !stream.wants(topic) {
                continue;
            }
            if stream.stage != Stage::Open || self.is_client_slow {
                stream.keep(id, topic, notes::change(params, id.text()));
            } else {
                lines.push(Frame::around(String::new(), &head, &[id.text(), &end].concat()));
            }
        }
        for line in lines {
            self.tell_client(line);
        }
    }

    /// The client reads slowly, or has caught up: changes are merged meanwhile (R, G10).
    #[cold]
    #[inline(never)]
    pub(super) fn client_slow(&mut self, is_slow: bool) {
        self.is_client_slow = is_slow;
        if !is_slow {
            let ids: Vec<_> = self.listen.streams.keys().cloned().collect();
            for id in ids {
                self.flush_stream(&id);
            }
        }
    }

    fn flush_stream(&mut self, id: &Id) {
        let Some(stream) = self.listen.streams.get_mut(id) else {
            return;
        };
        if stream.stage != Stage::Open || self.is_client_slow {
            return;
        }
        for (topic, params) in stream.take_kept() {
            self.tell_client(wire::notification(topic.method(), &params));
        }
    }

    /// The client does not want a stream any more (G12): nothing more is said on it.
    pub(super) fn cancel_stream(&mut self, id: &Id) {
        let Some(unwatched) = self.listen.remove(id) else {
            return;
        };
        self.front.leave(id);
        for (uri, watch) in unwatched {
            if let Watch::Asked(late) = watch {
                self.upstream.take(late);
            }
            if self.upstream.is_ready() {
                let purpose = self.upstream.expect(Purpose::Courtesy);
                let params = format!("{{\"uri\":{}}}", quoted(&uri));
                self.tell_server(wire::request(purpose.0, "resources/unsubscribe", &params));
            }
        }
    }

    /// Refuses the streams that were not acknowledged: nothing may come before that, not even their
    /// end (G4), and they wait for a server like any other request.
    pub(super) fn refuse_opening(&mut self, refusal: &Refusal) {
        let is_open = |_: &Id, stream: &Stream| !matches!(stream.stage, Stage::Opening(_));
        for (id, _) in self.listen.streams.take_unless(is_open) {
            self.front.leave(&id);
            self.refuse_line(Some(&id), refusal);
        }
    }

    /// Ends all streams in order: their requests get their results (G13).
    pub(super) fn close_streams(&mut self) {
        self.refuse_opening(&Refusal::UpstreamUnavailable("the stream was not open yet".into()));
        let identity = self.upstream.identity().to_owned();
        while let Some((id, mut stream)) = self.listen.streams.pop_first() {
            self.front.leave(&id);
            for (topic, params) in stream.take_kept() {
                self.tell_client(wire::notification(topic.method(), &params));
            }
            self.end_stream(&id, Some(&identity));
        }
        self.listen.forget_watches();
        self.close_passed_streams();
    }

    /// Answers the request of a stream with its end, and with the server's identity if we know it.
    pub(super) fn end_stream(&mut self, id: &Id, identity: Option<&str>) {
        let mut outcome = String::from("\"result\":");
        let mut result = Writer::new(&mut outcome);
        result.raw("resultType", "\"complete\"");
        let mut meta = Writer::new(result.open("_meta"));
        meta.raw(key::SUBSCRIPTION_ID, id.text());
        if let Some(identity) = identity {
            meta.raw(key::SERVER_INFO, identity);
        }
        meta.end();
        result.end();
        self.tell_client(wire::response(Some(id.text()), &outcome));
    }

    /// A new process serves the streams that stayed open (G14): they are narrowed to what it can
    /// do, subscribed anew, and told that everything may have changed meanwhile.
    pub(super) fn revive_streams(&mut self) {
        self.listen.forget_watches();
        let ids: Vec<_> = self.listen.streams.keys().cloned().collect();
        for id in ids {
            let Some(asked) = self.listen.streams.get(&id).map(|s| s.asked.clone()) else {
                continue;
            };
            let now_honoured = self.honoured(&asked);
            let Some(stream) = self.listen.streams.get_mut(&id) else {
                continue;
            };
            let until = self.now.after(OPENING_MS);
            if let Stage::Opening(_) = stream.stage {
                (stream.honoured, stream.stage) = (now_honoured, Stage::Opening(until));
            } else {
                // What it was told it gets cannot grow: the acknowledgement stands (G3).
                stream.honoured.narrow(&now_honoured);
                stream.stage = Stage::Reviving(until);
            }
            let uris = stream.honoured.uris.clone();
            self.subscribe(&uris);
        }
        self.settle_streams();
    }

    /// One notice for everything a stream may have missed (G14).
    fn announce_restart(&mut self, id: &Id) {
        let Some(stream) = self.listen.streams.get_mut(id) else {
            return;
        };
        let honoured = &stream.honoured;
        let lists = [
            (honoured.tools, Topic::Tools),
            (honoured.prompts, Topic::Prompts),
            (honoured.resources, Topic::Resources),
        ];
        let lists =
            lists.into_iter().filter(|(is_honoured, _)| *is_honoured).map(|(_, topic)| topic);
        let uris = honoured.uris.iter().cloned().map(Topic::Updated);
        for topic in lists.chain(uris).collect::<Vec<_>>() {
            if !stream.kept.contains_key(&topic) {
                let params = topic.plainly(id);
                stream.kept.insert(topic, params);
            }
        }
        self.flush_stream(id);
    }
}
