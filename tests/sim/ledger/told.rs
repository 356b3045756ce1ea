//! Progress and log messages: whose they are, and that they rise (F1-F6, F12-F16).

use super::super::json::Json;
use super::super::words::LEVELS;
use super::chains::St;
use super::session::{Fate, Purpose};
use super::{Check, Ledger, broken, ensure};

/// What a chain's client was told of its progress.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Its call went up with a token (F4).
    is_asked_for: bool,
    /// The last value under each of the client's tokens.
    marks: Vec<(String, f64)>,
    /// The highest value that came during this leg and may go down.
    newest: Option<f64>,
    /// When the last updates went down (F5).
    recent: Vec<u64>,
}

impl Progress {
    pub(super) fn forwarded(&mut self, with_token: bool) {
        self.is_asked_for = with_token;
        self.newest = None;
    }

    pub(super) fn leg_ended(&mut self) {
        self.newest = None;
    }

    fn mark(&self, token: &str) -> Option<f64> {
        self.marks.iter().find(|(known, _)| known == token).map(|(_, value)| *value)
    }

    fn set_mark(&mut self, token: &str, value: f64) {
        self.marks.retain(|(known, _)| known != token);
        self.marks.push((token.to_owned(), value));
    }
}

/// Log messages of this event, with whether each must go down.
#[derive(Debug, Default)]
pub(super) struct Said {
    logs: Vec<(u64, Option<bool>)>,
    /// The client was slow at some time: updates may have been dropped.
    was_slow: bool,
}

impl Ledger {
    pub(super) fn server_progressed(&mut self, token: u64, value: f64) {
        let Some((Purpose::Call(number), Fate::Open)) = self.session.sent.get(&token) else {
            return;
        };
        let idle_until = self.now + self.settings.limits.request_timeout_ms;
        self.told.was_slow |= self.is_slow;
        let chain = &mut self.chains[*number];
        let St::Running { idle, .. } = &mut chain.st else { return };
        *idle = idle_until;
        let Some(token) = chain.newest.token.as_deref() else { return };
        let last = chain.progress.newest.or(chain.progress.mark(token));
        if chain.progress.is_asked_for && last.is_none_or(|last| value > last) {
            chain.progress.newest = Some(value);
        }
    }

    /// A progress notification downward.
    pub(super) fn progress_down(&mut self, params: &Json) -> Check {
        let text = || params.short(200);
        let call = params.get("message").and_then(Json::text).and_then(|m| m.strip_prefix("call-"));
        let call: u64 = call.and_then(|call| call.parse().ok()).unwrap_or(0);
        let number = match self.session.sent.get(&call) {
            Some((Purpose::Call(number), _)) => *number,
            _ => return broken("F2-progress-of-a-call", text()),
        };
        let token = params.get("progressToken").map(Json::to_text).unwrap_or_default();
        let value = params.get("progress").and_then(Json::as_f64).unwrap_or(f64::NAN);
        ensure(!params.has("total") && !params.has("_meta"), "F3-members", text)?;
        let chain = &self.chains[number];
        let ask = &chain.newest;
        let is_owed = self.legs.get(&ask.id).is_some_and(|leg| leg.chain == Some(number));
        // What was held back goes down right before the outcome (F5).
        let is_ending = self.batch.replied.contains(&number);
        let runs = chain.is_running() || chain.is_silent() || is_ending;
        ensure(is_owed && runs, "F2-only-while-it-runs", || format!("{:?} {}", chain.st, text()))?;
        ensure(ask.token.as_ref() == Some(&token), "F1-its-own-token", || {
            format!("{ask:?} {}", text())
        })?;
        ensure(chain.progress.is_asked_for, "F4-none-without-a-token-upward", text)?;
        let mark = chain.progress.mark(&token);
        ensure(mark.is_none_or(|mark| value > mark), "F3-values-rise", || {
            format!("{mark:?} {}", text())
        })?;
        let now = self.now;
        let progress = &mut self.chains[number].progress;
        progress.set_mark(&token, value);
        progress.recent.retain(|at| at + 1000 > now);
        progress.recent.push(now);
        // Twenty a second, counted in seconds of its own, and one for each leg's end.
        ensure(progress.recent.len() <= 45, "F5-rate", || format!("{:?}", progress.recent))
    }

    /// What waits for its second may be dropped from now on (R).
    pub(super) fn slow_client(&mut self) {
        self.told.was_slow |= self.is_slow;
    }

    /// A leg is about to be answered: it was told the newest value (F5).
    pub(super) fn check_newest_progress(&self, number: usize) -> Check {
        let chain = &self.chains[number];
        let (Some(newest), Some(token)) = (chain.progress.newest, &chain.newest.token) else {
            return Ok(());
        };
        let mark = chain.progress.mark(token);
        let is_told = mark.is_some_and(|mark| mark >= newest);
        ensure(
            is_told || self.told.was_slow || !chain.is_running(),
            "F5-the-newest-is-kept",
            || format!("{newest} came, {mark:?} was told: {:?}", chain.newest),
        )
    }

    pub(super) fn server_logged(&mut self, level: usize, number: u64) {
        let running = self.live.iter().map(|n| &self.chains[*n]).filter(|c| c.is_running());
        let asked = running.filter(|chain| chain.newest.level.is_some());
        let newest = asked.max_by_key(|chain| chain.sent).and_then(|chain| chain.newest.level);
        let is_certain =
            !self.batch.is_mixed && !self.live.iter().any(|n| self.chains[*n].is_unseen());
        let wanted = newest.is_some_and(|from| level >= from) && !self.is_slow;
        self.told.logs.push((number, is_certain.then_some(wanted)));
    }

    /// A log message downward.
    pub(super) fn log_down(&mut self, params: &Json) -> Check {
        let text = || params.short(200);
        let number = params.get("data").and_then(Json::as_u64).unwrap_or(0);
        let level = params.get("level").and_then(Json::text);
        let level = LEVELS.iter().position(|known| Some(*known) == level);
        let Some(at) = self.told.logs.iter().position(|(log, _)| *log == number) else {
            return broken("F13-a-log-of-the-server", text());
        };
        let (_, wanted) = self.told.logs.remove(at);
        ensure(wanted != Some(false), "F12-no-unwanted-log", text)?;
        let asks = |n: &usize| {
            let chain = &self.chains[*n];
            chain.newest.level.is_some_and(|from| Some(from) <= level)
        };
        ensure(self.live.iter().any(asks), "F12-no-log-below-the-level", text)
    }

    /// At the end of an event: what was asked for was told.
    pub(super) fn check_logs(&mut self) -> Check {
        for (number, wanted) in std::mem::take(&mut self.told.logs) {
            ensure(wanted != Some(true), "F13-wanted-logs-go-down", || format!("log {number}"))?;
        }
        Ok(())
    }
}
