//! Folders that the server asked for outside any call (E20): the next call whose client has some
//! asks for them.

use super::Bridge;
use super::chain::{Chain, Source};
use super::event::Frame;
use super::ids::ChainId;
use crate::bounds::MOST_ROUNDS;
use crate::message::capabilities::Capabilities;
use crate::message::questions::{Asked, Kind};
use crate::message::splice::Common;
use crate::message::wire;

impl Bridge {
    /// Asks a call's client for folders before the call goes up, where the server waits for them.
    /// True when it was asked: the call is parked.
    pub(super) fn ask_roots_first(&mut self, id: ChainId) -> bool {
        let Some(chain) = self.chains.all.get_mut(&id) else {
            return false;
        };
        if !self.ambient.holds_roots() || !chain.request.method.is_mrtr() {
            return false;
        }
        // Who has been asked too often is not asked for folders either (E27).
        if !chain.capabilities().covers(Capabilities::ROOTS) || chain.rounds >= MOST_ROUNDS {
            self.refuse_roots_unless_asked();
            return false;
        }
        let asked = Asked { kind: Kind::Roots, needs: Capabilities::ROOTS, params: "{}".into() };
        let question = self.chains.question(Source::Roots, asked);
        if let Some(chain) = self.chains.all.get_mut(&id) {
            chain.questions.push(question);
        }
        self.park(id);
        true
    }

    /// A call goes on whose client has no folders: then the server gets none, unless another
    /// client is being asked (E20).
    pub(super) fn refuse_roots_unless_asked(&mut self) {
        let asks = |chain: &Chain| chain.questions.iter().any(|q| q.source == Source::Roots);
        if !self.chains.all.values().any(asks) {
            self.refuse_roots();
        }
    }

    /// Something is sent up that cannot carry the folders question: does it wait for it?
    pub(super) fn watch_roots(&mut self, chain: ChainId) {
        for question in self.ambient.held() {
            self.ambient.suspect(question, vec![chain], self.now);
        }
    }

    /// Nobody is asked for folders, or not any more.
    pub(super) fn refuse_roots(&mut self) {
        for server_id in self.ambient.take_roots() {
            self.reply(&server_id, Kind::Roots, Kind::Roots.refusal());
        }
        self.close_ambient();
    }

    /// The first client that named its folders names them for all (E20).
    pub(super) fn pass_roots(&mut self, answer: &str) {
        let answer = Common::new(answer.to_owned());
        for server_id in self.ambient.take_roots() {
            let mut head = String::new();
            wire::response_head(&mut head, Some(server_id.text()));
            self.tell_server(Frame::around(head, &answer, wire::END));
        }
        self.note_digestion(Kind::Roots);
        self.close_ambient();
    }

    /// Once nobody waits for folders, the calls that were asked need no answer any more.
    pub(super) fn close_ambient(&mut self) {
        if self.ambient.holds_roots() {
            return;
        }
        for chain in self.chains.all.values_mut() {
            chain.questions.retain(|question| question.source != Source::Roots);
        }
    }
}
