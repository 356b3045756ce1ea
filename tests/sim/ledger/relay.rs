//! A legacy client in front of a legacy server: lines pass as they are (I15).

use std::collections::VecDeque;

use super::super::json::Json;
use super::super::talk::{Reply, Said, Told};
use super::down::read;
use super::legs::Owed;
use super::session::{Phase, Process};
use super::{Check, Ledger, Mode, broken, ensure};

#[derive(Debug, Default)]
pub(super) struct Relay {
    /// Requests of the client that are not answered.
    open: Vec<String>,
    /// Those that failed with a lost line of the server, which may answer them yet, oldest first.
    paid: Vec<String>,
    /// Lines that have to go up, in this order.
    up: VecDeque<Vec<u8>>,
    /// The line that must go down in this event.
    down: Option<Vec<u8>>,
    /// A line that may go down: whether it is a message is a matter of taste.
    may_go_down: Option<Vec<u8>>,
    /// The id of the client's `initialize`, until it is answered.
    opening: Option<String>,
}

impl Relay {
    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }
}

impl Ledger {
    /// `initialize` without an envelope (I1, B9).
    pub(super) fn opens_legacy(&mut self, id: &str, bytes: &[u8]) {
        if self.legs.contains_key(id) {
            return self.owe(Owed::error(Some(id), -32600));
        }
        if self.is_pinned || self.is_modern_only() || self.session.is_modern {
            return self.owe(Owed::error(Some(id), -32022));
        }
        self.mode = Mode::Relayed;
        self.session.was_asked = true;
        for probe in std::mem::take(&mut self.legs).into_keys() {
            self.owe(Owed::error(Some(&probe), -32601));
        }
        self.relay.opening = Some(id.to_owned());
        self.relay.open.push(id.to_owned());
        self.relay.up.push_back(bytes.to_vec());
    }

    pub(super) fn relay_client(&mut self, said: &Said, bytes: &[u8]) {
        self.relay_forgets();
        match said {
            Said::Legacy(ids, cancelled) => {
                self.relay.open.retain(|open| Some(open) != cancelled.as_ref());
                let is_single = ids.len() == 1 && !bytes.starts_with(b"[");
                if is_single && self.relay.open.contains(&ids[0]) {
                    return self.owe(Owed::error(Some(&ids[0]), -32600));
                }
                if is_single && self.relay.open.len() >= self.settings.limits.in_flight {
                    return self.owe(Owed::error(Some(&ids[0]), -32603));
                }
                if !is_single
                    && !ids.is_empty()
                    && self.relay.open.len() + ids.len() > self.settings.limits.in_flight
                {
                    ids.iter().for_each(|id| self.owe(Owed::error(Some(id), -32603)));
                    return;
                }
                self.relay.open.extend(ids.iter().cloned());
                self.relay.up.push_back(bytes.to_vec());
            }
            Said::Wrong(id, code) => self.owe(Owed::error(id.as_deref(), *code)),
            _ => self.owe(Owed::error(None, 0)), // the model does not send it
        }
    }

    pub(super) fn relay_server(&mut self, told: &[Told], bytes: &[u8]) {
        self.relay_forgets();
        // A second answer, which is none of the client's; and one to what is long forgotten.
        let (mut seconds, mut may_be_seconds) = (0, 0);
        for told in told {
            if let Told::Reply(id, reply) = told {
                let id = id.to_string();
                if *reply == Reply::Broken {
                    continue;
                }
                let paid = self.relay.paid.iter().position(|paid| *paid == id);
                if let Some(at) = paid.filter(|_| !self.relay.open.contains(&id)) {
                    let age = self.relay.paid.len() - at;
                    let is_known = age <= self.settings.limits.in_flight;
                    *(if is_known { &mut seconds } else { &mut may_be_seconds }) += 1;
                    self.relay.paid.remove(at);
                    continue;
                }
                if self.relay.opening.as_ref() == Some(&id) {
                    self.relay.opening = None;
                    if matches!(reply, Reply::Error { .. }) && is_modern_refusal(bytes) {
                        return self.refuses_legacy(&id);
                    }
                    self.session.was_ready |=
                        matches!(reply, Reply::Welcome(_) | Reply::Result { .. });
                }
                self.relay.open.retain(|open| *open != id);
            }
        }
        let is_noise = |told: &Told| matches!(told, Told::Noise | Told::Reply(_, Reply::Broken));
        let noise = told.iter().filter(|told| is_noise(told)).count();
        if seconds > 0 && noise + seconds == told.len() {
            return;
        }
        if noise + seconds + may_be_seconds == told.len() {
            self.relay.may_go_down = Some(bytes.to_vec());
        } else {
            self.relay.down = Some(bytes.to_vec());
        }
    }

    /// The server is modern and the client is not: said clearly, and the connection stays open.
    fn refuses_legacy(&mut self, id: &str) {
        self.mode = Mode::Bridged;
        self.session.is_modern = true;
        self.session.phase = Phase::Fresh;
        self.relay = Relay::default();
        self.owe(Owed::error(Some(id), -32022));
    }

    fn relay_forgets(&mut self) {
        self.relay.may_go_down = None;
    }

    pub(super) fn relay_down(&mut self, bytes: &[u8]) -> Check {
        let line = bytes.strip_suffix(b"\n").unwrap_or_default();
        if self.relay.down.as_deref() == Some(line) {
            self.relay.down = None;
            return Ok(());
        }
        if self.relay.may_go_down.as_deref() == Some(line) {
            self.relay.may_go_down = None;
            return Ok(());
        }
        let frame = read(bytes)?;
        let id = frame.get("id").map(Json::to_text);
        let reason = frame.get("error").and_then(|e| e.get("data")).and_then(|d| d.get("reason"));
        let reason = reason.and_then(Json::text).unwrap_or_default();
        let holds = match reason {
            "upstream_exited" => self.batch.is_lost,
            "upstream_unavailable" => !self.is_running(),
            "invalid_upstream_message" => self.batch.is_overlong,
            "timeout" => {
                let after = self.settings.limits.request_timeout_ms;
                self.closed_at.is_some_and(|at| at + after <= self.now)
            }
            _ => return self.pay(id.as_deref(), &frame),
        };
        ensure(holds, "I15-its-own-errors", || frame.short(200))?;
        let Some(at) = self.relay.open.iter().position(|open| Some(open) == id.as_ref()) else {
            return broken("I1-one-answer-each", frame.short(200));
        };
        let id = self.relay.open.swap_remove(at);
        if reason == "invalid_upstream_message" {
            self.relay.paid.push(id);
        }
        Ok(())
    }

    pub(super) fn relay_up(&mut self, bytes: &[u8]) -> Check {
        let line = bytes.strip_suffix(b"\n").unwrap_or_default();
        let expected = self.relay.up.pop_front();
        ensure(expected.as_deref() == Some(line), "I15-lines-pass-unchanged", || {
            format!("{} instead of {expected:?}", String::from_utf8_lossy(line))
        })
    }

    /// At the end of an event: what could pass has passed.
    pub(super) fn check_relay(&mut self) -> Check {
        let text = |line: &Vec<u8>| String::from_utf8_lossy(line).into_owned();
        let down = self.relay.down.as_ref().map(text);
        ensure(down.is_none(), "I15-lines-pass-down", || format!("{down:?}"))?;
        let open = &self.relay.open;
        let is_gone = self.session.is_unstartable || self.batch.is_overlong;
        ensure(open.is_empty() || !is_gone, "I15-the-debt-is-paid", || format!("{open:?}"))?;
        if is_gone && self.session.is_unstartable {
            self.relay.up.clear();
        }
        let up = self.relay.up.front().map(text);
        let can = self.session.process == Process::Running && self.session.phase == Phase::Fresh;
        ensure(up.is_none() || !can, "I15-lines-pass-up", || format!("{up:?}"))
    }
}

/// Is it how a server that knows only 2026-07-28 refuses `initialize` (I4b)?
fn is_modern_refusal(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    ["-32601", "-32022", "2026-07-28"].iter().any(|sign| text.contains(sign))
}
