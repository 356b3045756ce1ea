//! Requests that are owed an answer, and whether an answer has its reason (invariant 1, table L).

use std::rc::Rc;

use super::super::json::Json;
use super::super::talk::{Ask, Reply};
use super::super::words::{self, CALL};
use super::chains::{Chain, St};
use super::verdict::Verdict;
use super::{Check, Ledger, Mode, broken, ensure};

/// An answer that must come in the same batch.
#[derive(Debug)]
pub(super) enum Owed {
    Error {
        id: Option<String>,
        code: i64,
    },
    /// `{}`, the answer to a ping.
    Empty(String),
}

impl Owed {
    pub(super) fn error(id: Option<&str>, code: i64) -> Self {
        Owed::Error { id: id.map(str::to_owned), code }
    }

    fn is_paid_by(&self, id: Option<&str>, frame: &Json) -> bool {
        let error = frame.get("error");
        match self {
            Owed::Error { id: owed, code } => {
                owed.as_deref() == id
                    && error.and_then(|e| e.get("code")).and_then(Json::as_i64) == Some(*code)
            }
            Owed::Empty(owed) => {
                Some(owed.as_str()) == id
                    && frame.get("result").and_then(Json::members).is_some_and(<[_]>::is_empty)
            }
        }
    }
}

/// One unanswered request of the client.
#[derive(Debug)]
pub(super) struct Leg {
    pub(super) ask: Rc<Ask>,
    pub(super) chain: Option<usize>,
    pub(super) verdict: Option<Verdict>,
    pub(super) since: u64,
}

impl Ledger {
    pub(super) fn owe(&mut self, owed: Owed) {
        self.batch.owed.push(owed);
    }

    /// A request with a good envelope and a free id: it is owed an answer from here on.
    pub(super) fn accept(&mut self, ask: &Rc<Ask>) {
        let mut leg = Leg { ask: Rc::clone(ask), chain: None, verdict: None, since: self.now };
        if ask.retry.is_some() && words::is_mrtr(&ask.method) {
            let (verdict, chain) = self.judge_retry(ask);
            leg.chain = chain;
            leg.verdict = Some(verdict);
        } else if ask.filter.is_some() {
            self.stream_asked(ask);
        } else if !matches!(ask.method.as_str(), "server/discover" | "subscriptions/listen") {
            let number = self.chains.len();
            self.chains.push(Chain::new(Rc::clone(ask), self.now));
            self.live.push(number);
            leg.chain = Some(number);
        }
        if let Some(chain) = leg.chain {
            self.leg_chain.insert(ask.leg, chain);
        }
        self.legs.insert(ask.id.clone(), leg);
    }

    pub(super) fn client_cancels(&mut self, id: &str) -> Check {
        if let Some(leg) = self.legs.remove(id) {
            if leg.ask.method == "subscriptions/listen" {
                self.stream_cancelled(id);
            }
            if let Some(chain) = leg.chain {
                self.client_gives_up(chain);
            }
            return Ok(());
        }
        let is_newest = |chain: &&usize| {
            let chain = &self.chains[**chain];
            matches!(chain.st, St::Parked(_)) && chain.newest.id == id
        };
        if let Some(chain) = self.live.iter().find(is_newest).copied() {
            self.client_gives_up(chain); // F9
        }
        Ok(())
    }

    /// A response downward: it pays a debt, or it is one too many.
    pub(super) fn pay(&mut self, id: Option<&str>, frame: &Json) -> Check {
        let owed = &mut self.batch.owed;
        if let Some(at) = owed.iter().position(|owed| owed.is_paid_by(id, frame)) {
            owed.remove(at);
            return Ok(());
        }
        let Some(leg) = id.and_then(|id| self.legs.remove(id)) else {
            return broken("I1-one-answer-each", format!("nobody is owed {}", frame.short(300)));
        };
        self.answered(&leg, frame)
    }

    fn answered(&mut self, leg: &Leg, frame: &Json) -> Check {
        let Some(result) = frame.get("result") else {
            let error = frame.get("error").cloned().unwrap_or(Json::Null);
            return self.refused(leg, &error);
        };
        Self::check_result(&leg.ask, result)?;
        ensure(!leg.ask.is_illegal, "B12-refused", || leg.ask.salient.clone())?;
        match leg.ask.method.as_str() {
            "server/discover" => self.discovered(result),
            "subscriptions/listen" => self.stream_closed(&leg.ask.id, result),
            _ if result.get("resultType").and_then(Json::text) == Some("input_required") => {
                self.parks(leg, result)
            }
            _ => self.completed(leg, result),
        }
    }

    fn discovered(&mut self, result: &Json) -> Check {
        ensure(self.is_ready(), "C1-after-the-handshake", || "discover".into())?;
        let offers = &self.session.offers;
        let capabilities = result.get("capabilities");
        let says = |name: &str| capabilities.is_some_and(|all| all.has(name));
        for name in ["tools", "prompts", "resources", "logging"] {
            ensure(says(name) == offers.has(name), "C-capabilities", || {
                format!("{name} in {}", result.short(300))
            })?;
        }
        Ok(())
    }

    /// A leg gets its final result.
    fn completed(&mut self, leg: &Leg, result: &Json) -> Check {
        let Some(number) = leg.chain else {
            return broken("E12-result-for-a-bad-state", result.short(200));
        };
        let call = result.get(CALL).and_then(Json::as_u64);
        let chain = &self.chains[number];
        match (&chain.reply, call) {
            (Some((replied, Reply::Result { failed })), Some(call)) if *replied == call => {
                ensure(!(*failed && chain.certainly_missing != 0), "E9-needs-capability", || {
                    format!("call {call} failed for want of a capability")
                })?;
                self.check_newest_progress(number)?;
                self.remember(number, call);
            }
            (_, Some(call)) if words::is_list(&leg.ask.method) => {
                self.check_memory(leg, number, call)?;
            }
            (_, None) if chain.has_declined && leg.ask.method == "tools/call" => {
                let failed = result.get("isError").and_then(Json::as_bool);
                ensure(failed == Some(true), "E28-declined", || result.short(200))?;
            }
            _ => {
                let text = result.short(200);
                return broken("A17-the-right-result", format!("{:?} got {text}", chain.ask));
            }
        }
        self.chain_over(number);
        Ok(())
    }

    fn refused(&mut self, leg: &Leg, error: &Json) -> Check {
        let code = error.get("code").and_then(Json::as_i64).unwrap_or(0);
        let message = error.get("message").and_then(Json::text).unwrap_or_default();
        if leg.ask.method == "subscriptions/listen" {
            self.stream_refused(&leg.ask, code)?;
        }
        if let Some(from) = message.strip_prefix("sim ").and_then(|n| n.parse::<u64>().ok()) {
            return self.server_error(leg, from, code, error);
        }
        let reason = error.get("data").and_then(|data| data.get("reason")).and_then(Json::text);
        self.check_reason(leg, code, reason, error)?;
        match (leg.chain, &leg.verdict) {
            // A refused retry leaves its chain as it was.
            (Some(number), verdict) if !matches!(verdict, Some(Verdict::Illegal)) => {
                self.check_undelivered(number, code)?;
                // Whatever the bridge itself ends, the server is told (F8, F10).
                let chain = &self.chains[number];
                let is_told = chain.call.is_none() || chain.is_overlong || !self.is_running();
                ensure(is_told, "F10-cancelled-upward", || format!("{:?}", leg.ask))?;
                self.chain_over(number);
            }
            _ => {}
        }
        Ok(())
    }

    /// An error of the server's, perhaps under another code (L).
    fn server_error(&mut self, leg: &Leg, from: u64, code: i64, error: &Json) -> Check {
        let Some(number) = leg.chain else {
            return broken("E12-result-for-a-bad-state", error.short(200));
        };
        let chain = &self.chains[number];
        let sent = match &chain.reply {
            Some((call, Reply::Error { code })) if *call == from => *code,
            Some((call, Reply::Visits(_))) if *call == from => Some(-32042),
            _ => {
                return broken(
                    "A17-the-right-error",
                    format!("{:?}: {}", chain.ask, error.short(200)),
                );
            }
        };
        let upstream = error.get("data").and_then(|data| data.get("upstreamCode"));
        let expected = match sent {
            None => -32603,
            Some(sent) if (-32099..=-32020).contains(&sent) => {
                ensure(upstream.and_then(Json::as_i64) == Some(sent), "L-upstream-code", || {
                    error.short(200)
                })?;
                -32603
            }
            Some(-32002) => -32602,
            Some(sent) => sent,
        };
        ensure(code == expected, "L-codes", || format!("{sent:?} became {code}"))?;
        ensure(chain.certainly_missing == 0, "E9-needs-capability", || error.short(200))?;
        self.check_newest_progress(number)?;
        self.chain_over(number);
        Ok(())
    }

    /// Is what waits for an outcome allowed to get this one, although the server gave another?
    fn check_undelivered(&self, number: usize, code: i64) -> Check {
        let chain = &self.chains[number];
        match &chain.reply {
            Some((_, Reply::Result { failed: false })) => {
                broken("L-result-withheld", format!("{:?} got {code}", chain.ask))
            }
            Some((_, Reply::Result { .. } | Reply::Error { .. })) => {
                ensure(code == -32021, "L-outcome-withheld", || {
                    format!("{:?} got {code}", chain.ask)
                })
            }
            _ => Ok(()),
        }
    }

    /// An error of the bridge's own must have its reason.
    fn check_reason(&self, leg: &Leg, code: i64, reason: Option<&str>, error: &Json) -> Check {
        let chain = leg.chain.map(|number| &self.chains[number]);
        let has_reply = |wanted: &Reply| {
            chain.is_some_and(|c| c.reply.as_ref().is_some_and(|(_, reply)| reply == wanted))
        };
        let is_ready = self.is_ready();
        let holds = match (code, reason) {
            (-32603, Some("timeout")) => leg.chain.is_some_and(|number| self.is_timed_out(number)),
            (-32603, Some("upstream_exited")) => self.batch.is_lost,
            (-32603, Some("upstream_unavailable")) => {
                !is_ready || self.batch.is_failed || self.batch.is_stopping
            }
            (-32603, Some("overloaded")) => self.is_overloaded(leg),
            (-32603, Some("invalid_upstream_result")) => has_reply(&Reply::NotAnObject),
            (-32603, Some("invalid_upstream_message")) => {
                has_reply(&Reply::Broken) || chain.is_some_and(|c| c.is_overlong)
            }
            (-32603, Some("too_many_rounds")) => chain.is_some_and(|c| c.rounds >= 50),
            (-32603, Some("declined")) => {
                chain.is_some_and(|c| c.has_declined) && leg.ask.method != "tools/call"
            }
            (-32021, _) => return self.check_capability(leg, error),
            (-32602, Some("invalid_request_state" | "upstream_restarted")) => {
                return self.check_state_refusal(leg, reason);
            }
            (-32602, None) => {
                let most = self.settings.limits.subscription_uris;
                leg.ask.is_illegal
                    || leg.verdict == Some(Verdict::Illegal)
                    || leg.ask.filter.as_ref().is_some_and(|filter| filter.uris.len() > most)
            }
            (-32601, _) => is_ready && self.is_unsupported(&leg.ask),
            _ => false,
        };
        ensure(holds, "L-error-without-reason", || {
            format!("{:?} ({:?}) got {}", leg.ask, chain.map(|c| &c.st), error.short(300))
        })
    }

    fn check_capability(&self, leg: &Leg, error: &Json) -> Check {
        let required = error.get("data").and_then(|data| data.get("requiredCapabilities"));
        let bits = required.and_then(words::required).unwrap_or(0);
        ensure(bits != 0, "E8-required-capabilities", || error.short(200))?;
        let missed = leg.chain.map_or(0, |number| self.chains[number].may_miss);
        ensure(bits & !missed == 0, "E8-only-what-is-missing", || {
            format!("{bits:b} of {missed:b}: {:?}", leg.ask)
        })
    }

    fn check_state_refusal(&self, leg: &Leg, reason: Option<&str>) -> Check {
        let Some(Verdict::Refused { is_restarted }) = leg.verdict else {
            let is_returning = leg.chain.is_some() && self.batch.is_lost;
            return ensure(is_returning, "E13-valid-state-refused", || {
                format!("{:?}: {:?}", leg.verdict, leg.ask)
            });
        };
        let restarted = reason == Some("upstream_restarted");
        ensure(is_restarted.is_none_or(|wanted| wanted == restarted), "E24-restarted", || {
            format!("{reason:?}, expected restarted: {is_restarted:?}: {:?}", leg.ask)
        })
    }

    /// Would it be one request too many (R)?
    fn is_overloaded(&self, leg: &Leg) -> bool {
        if leg.ask.method == "subscriptions/listen" {
            return self.streams.count_others(&leg.ask.id) >= self.settings.limits.subscriptions;
        }
        // A stream counts until the handshake has let it in.
        let counts = |other: &&Leg| other.ask.filter.is_none() || !self.is_ready();
        let others = self.legs.values().filter(counts).count();
        let is_small = self.settings.limits.buffer_bytes < 1 << 20;
        others >= self.settings.limits.in_flight || is_small
    }

    /// Does the server not have what this request needs (B8, B10)?
    pub(super) fn is_unsupported(&self, ask: &Ask) -> bool {
        let offers = &self.session.offers;
        match words::capability(&ask.method) {
            Some(capability) => !offers.has(capability),
            None => ask.method == "vendor/do" && !offers.vendor,
        }
    }

    /// At the end of an event: nothing that was due is still owed.
    pub(super) fn check_legs(&self) -> Check {
        if let Some(owed) = self.batch.owed.first() {
            return broken("I1-answered-at-once", format!("{owed:?}"));
        }
        if self.mode != Mode::Bridged || self.exit.is_some() {
            return Ok(());
        }
        let is_ready = self.is_ready();
        for leg in self.legs.values() {
            let ask = &leg.ask;
            let at_once = leg.verdict.is_some_and(Verdict::is_answered_at_once);
            ensure(!at_once, "E15-answered-at-once", || format!("{:?} {ask:?}", leg.verdict))?;
            if is_ready {
                let is_decided =
                    ask.method == "server/discover" || ask.is_illegal || self.is_unsupported(ask);
                ensure(!is_decided, "C1-B8-answered-at-once", || format!("{ask:?}"))?;
            }
        }
        for (number, why) in &self.batch.due {
            let chain = &self.chains[*number];
            let is_owed =
                self.legs.get(&chain.newest.id).is_some_and(|leg| leg.chain == Some(*number));
            ensure(!is_owed, "I1-outcome-delivered", || format!("{why}: {:?}", chain.newest))?;
        }
        // Exempt are discover, listens and retries (R).
        let counted = self.legs.values().filter(|leg| {
            leg.verdict.is_none()
                && !matches!(leg.ask.method.as_str(), "server/discover" | "subscriptions/listen")
        });
        let most = self.settings.limits.in_flight;
        ensure(counted.count() <= most, "R-in-flight", || format!("more than {most}"))
    }
}
