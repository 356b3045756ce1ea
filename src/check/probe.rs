//! One column: which processes are started, and what each is asked, in which order.
//!
//! ```text
//!  A  discover, lists, first list again; the probes, where its lists work; its end
//!  B  the list as the first frame        C  initialize, lists; the probes, if not on A
//!  D  a version that does not exist      E...  replacements, and one for each --call
//! ```

use super::STDERR_BYTES;
use super::digest::sha256;
use super::envelope::{CLIENT_INFO, Envelope};
use super::model::Era;
use super::options::{Call, Options};
use super::secrets::masked_start;
use super::seen::{CallSeen, Listen, Listing, Probe, Reply, Seen, seconds};
use super::talk::{Exchange, Talk};
use crate::message::equal::same_value;
use crate::message::list::array;
use crate::message::object::Object;
use crate::message::vocabulary::{code, key};
use crate::message::writer::quoted;
use crate::shell::Launch;
use crate::shell::keeper::{How, Keeper};

/// Processes that may replace one that ended or hung.
const MOST_REPLACEMENTS: usize = 6;

/// Pages of a list that are read.
const MOST_PAGES: usize = 20;

/// Items of a list that are kept, but for one that shows that there are more; behind them no further
/// page is read.
const MOST_ITEMS: usize = 10_000;

/// Bytes of an item's name above which its sum stands for it: enough to compare, and to tell some.
const LONG_NAME: usize = 256;

/// Names of tools, and letters of each, by which one that is not there is told from those that are.
const SHOWN_NAMES: usize = 5;
const SHOWN_NAME: usize = 40;

/// How long a main process may take to end once its input is closed, and any other, in milliseconds.
const MAIN_ENDS_MS: u64 = 2_000;
const OTHER_ENDS_MS: u64 = 300;

/// How long a legacy server is listened to after its handshake.
const LISTENS_MS: u64 = 300;

/// A list that a capability promises.
struct List {
    capability: &'static str,
    method: &'static str,
    member: &'static str,
    /// What names an item.
    name: &'static str,
}

const LISTS: [List; 4] = [
    List { capability: "tools", method: "tools/list", member: "tools", name: "name" },
    List { capability: "prompts", method: "prompts/list", member: "prompts", name: "name" },
    List { capability: "resources", method: "resources/list", member: "resources", name: "uri" },
    List {
        capability: "resources",
        method: "resources/templates/list",
        member: "resourceTemplates",
        name: "uriTemplate",
    },
];

/// What runs a column.
struct Column<'k> {
    talk: Talk<'k>,
    options: &'k Options,
    say: &'k mut dyn FnMut(&str),
    /// A URI that nobody serves.
    absent: String,
    replacements: usize,
    /// A replacement has to shake hands first.
    is_legacy_path: bool,
}

/// Runs all that a column takes. `say` hears what is being done; `absent` is a URI that nobody
/// serves. `Err`: this signal told us to end.
pub(super) fn column(
    keeper: &mut Keeper,
    launch: &Launch,
    options: &Options,
    is_wrapped: bool,
    absent: &str,
    say: &mut dyn FnMut(&str),
) -> Result<Seen, i32> {
    let talk = Talk::new(keeper, launch, &options.wishes, &options.secrets, is_wrapped);
    let mut column = Column {
        talk,
        options,
        say,
        absent: absent.to_owned(),
        replacements: 0,
        is_legacy_path: false,
    };
    column.run();
    let Talk { mut seen, keeper, .. } = column.talk;
    let era = seen.era;
    seen.marks.note_era(era);
    let last = keeper.stderr_lines().pop().unwrap_or_default();
    seen.last_stderr = masked_start(&last, STDERR_BYTES, &seen.secrets);
    keeper.stopped().map_or(Ok(seen), Err)
}

impl Column<'_> {
    fn run(&mut self) {
        self.announce("server/discover");
        if !self.talk.start(Some('A')) {
            return;
        }
        self.open_modern();
        let probes_on_a = self.talk.seen.era.is_modern() || self.talk.seen.lists_at_once();
        if probes_on_a {
            self.probes();
        }
        let is_main = probes_on_a && self.talk.has_child();
        self.end(is_main);
        // A server that stays silent at first is silent again, and that takes its time.
        let is_silent = |probe: &Probe| matches!(probe.reply, Reply::Silence(_));
        let is_mute =
            !self.talk.seen.has_written && self.talk.seen.discover.as_ref().is_some_and(is_silent);
        if !is_mute {
            self.stand_alone();
        }
        self.open_legacy(!probes_on_a);
        self.look_for_tools();
        if self.talk.seen.era.is_modern() {
            self.ask_for_version();
            self.call_tools();
        }
    }

    /// Says what is waited for, and how long at most.
    fn announce(&mut self, what: &str) {
        let most = seconds(self.talk.next_patience());
        (self.say)(&format!("waiting for {what}, {most} s at most"));
    }

    fn seen(&mut self) -> &mut Seen {
        &mut self.talk.seen
    }

    // ---- A ----

    /// Discover, the lists, the first one again.
    fn open_modern(&mut self) {
        let discover = self.talk.ask("server/discover", "", Envelope::Whole);
        let is_discovered = discover.as_ref().and_then(Probe::result).is_some_and(|result| {
            result.get("supportedVersions").is_some() || result.get("capabilities").is_some()
        });
        self.seen().discover = discover;
        if is_discovered {
            self.seen().era = Era::Modern;
        }
        for list in self.promised() {
            self.announce(list.method);
            let listing = if self.finds_child() { self.list(list, Envelope::Whole) } else { None };
            let Some(listing) = listing else {
                self.seen().lacks_list = true;
                break;
            };
            let is_silent = matches!(listing.probe.reply, Reply::Silence(_));
            let has_type =
                listing.probe.result().is_some_and(|result| result.get("resultType").is_some());
            if has_type && listing.works() {
                self.seen().era = Era::Modern;
            }
            self.seen().lists.push(listing);
            if is_silent {
                self.see_whether_it_lives();
            }
        }
        let first = self.first_list();
        if self.talk.seen.lists_at_once() && self.talk.has_child() {
            self.seen().again = self.list_now(first, Envelope::Whole);
        }
    }

    /// The lists that are advertised, or that of tools where nothing is known.
    fn promised(&self) -> Vec<&'static List> {
        let seen = &self.talk.seen;
        let capabilities = seen.capabilities();
        let is_known = !capabilities.is_empty();
        let is_promised = |list: &&List| {
            if is_known {
                capabilities.get(list.capability).is_some()
            } else {
                list.capability == "tools" && !seen.era.is_modern()
            }
        };
        LISTS.iter().filter(is_promised).collect()
    }

    fn first_list(&self) -> &'static List {
        self.promised().first().copied().unwrap_or(&LISTS[0])
    }

    fn list_now(&mut self, list: &'static List, envelope: Envelope<'_>) -> Option<Listing> {
        self.announce(list.method);
        self.list(list, envelope)
    }

    /// All pages of a list; `None` where there was no time for all of them.
    fn list(&mut self, list: &'static List, envelope: Envelope<'_>) -> Option<Listing> {
        let probe = self.talk.ask_whole(list.method, "", envelope)?;
        let mut has_tasks = false;
        let tools = probe.result().and_then(|result| array(result.get("tools")?));
        for tool in tools.into_iter().flatten() {
            self.talk.seen.marks.note_tool(tool);
            has_tasks |= may_be_task(tool);
        }
        let mut names = names_of(&probe, list);
        let mut cursor = cursor_of(&probe);
        for _ in 1..MOST_PAGES {
            if names.as_ref().map_or(0, Vec::len) > MOST_ITEMS {
                break;
            }
            let (Some(known), Some(next)) = (&mut names, cursor.take()) else { break };
            let page = self.talk.ask_whole(list.method, &format!("\"cursor\":{next}"), envelope)?;
            let Some(more) = names_of(&page, list) else { break };
            known.extend(more);
            cursor = cursor_of(&page);
        }
        let is_whole =
            cursor.is_none() && names.as_ref().is_none_or(|names| names.len() <= MOST_ITEMS);
        let mut listing = Listing { probe: probe.bounded(), names, is_whole, has_tasks };
        // A server need not have templates, and says so in its own way.
        if list.member == "resourceTemplates"
            && listing.probe.code() == Some(code::METHOD_NOT_FOUND)
        {
            listing.names = Some(Vec::new());
        }
        Some(listing)
    }

    // ---- B, C, D ----

    fn stand_alone(&mut self) {
        if !self.talk.start(Some('B')) {
            return;
        }
        self.seen().alone = self.list_now(self.first_list(), Envelope::Whole);
        self.end(false);
    }

    /// The handshake of old, and what works behind it.
    fn open_legacy(&mut self, with_probes: bool) {
        self.announce("initialize");
        if !self.talk.start(Some('C')) {
            return;
        }
        if self.shake_hands() {
            self.talk.pause(LISTENS_MS);
            let modern = self.talk.seen.era.is_modern();
            self.seen().era = if modern { Era::Dual } else { Era::Legacy };
            let first = self.first_list();
            self.seen().plain = self.list_now(first, Envelope::None);
            if !self.talk.seen.lists_at_once() {
                self.seen().enveloped = self.list_now(first, Envelope::Whole);
            }
            self.is_legacy_path = true;
            if with_probes {
                self.probes();
            } else if !modern {
                self.probes_of_offers(); // what it offers was not known before
            }
        }
        self.end(with_probes && self.is_legacy_path);
        self.is_legacy_path = false;
    }

    /// True where it was accepted.
    fn shake_hands(&mut self) -> bool {
        self.talk.speak_legacy();
        let capabilities = r#"{"roots":{"listChanged":true},"sampling":{},"elicitation":{}}"#;
        let params = format!(
            "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{capabilities},\"clientInfo\":{CLIENT_INFO}"
        );
        let Some(probe) = self.talk.ask("initialize", &params, Envelope::None) else {
            return false;
        };
        let is_accepted = probe.result().is_some_and(|r| r.get("protocolVersion").is_some());
        if self.talk.seen.initialize.is_none() {
            self.seen().initialize = Some(probe);
        }
        if is_accepted {
            self.talk.tell("notifications/initialized", "");
        }
        is_accepted
    }

    fn ask_for_version(&mut self) {
        if !self.talk.start(Some('D')) {
            return;
        }
        let method = self.first_list().method;
        self.announce("a version that does not exist");
        self.seen().version = self.talk.ask(method, "", Envelope::Version("1999-01-01"));
        self.end(false);
    }

    // ---- probes ----

    fn probes(&mut self) {
        let uri = self.absent_member();
        let is_modern = self.talk.seen.era.is_modern();
        let method = self.first_list().method;
        let whole = Envelope::Whole;
        self.seen().ping = self.probe("ping", "", whole);
        self.seen().set_level = self.probe("logging/setLevel", "\"level\":\"info\"", whole);
        self.seen().subscribe = self.probe("resources/subscribe", &uri, whole);
        self.seen().unsubscribe = self.probe("resources/unsubscribe", &uri, whole);
        self.probes_of_offers();
        if is_modern {
            self.seen().without_meta = self.probe(method, "", Envelope::None);
            self.seen().version_only = self.probe(method, "", Envelope::VersionOnly);
            self.seen().unknown = self.probe("mcp-uplift-check/no-such-method", "", whole);
        }
    }

    /// What is asked only of a server that offers it.
    fn probes_of_offers(&mut self) {
        let capabilities = self.talk.seen.capabilities();
        let has_resources = capabilities.get("resources").is_some();
        let filter = listen_filter(&capabilities, &self.absent);
        if let Some(filter) = filter {
            self.listen(&filter);
        }
        if has_resources {
            self.seen().read = self.probe("resources/read", &self.absent_member(), Envelope::Whole);
        }
    }

    fn absent_member(&self) -> String {
        format!("\"uri\":{}", quoted(&self.absent))
    }

    /// Asks in a process that lives, and sees to it that the next one finds such a process, too.
    fn probe(
        &mut self,
        method: &'static str,
        members: &str,
        envelope: Envelope<'_>,
    ) -> Option<Probe> {
        if !self.finds_child() {
            return None;
        }
        self.announce(method);
        let probe = self.talk.ask(method, members, envelope)?;
        if matches!(probe.reply, Reply::Silence(_)) {
            self.see_whether_it_lives();
        }
        Some(probe)
    }

    /// It did not answer: does it hang, or did it merely ignore that?
    fn see_whether_it_lives(&mut self) {
        if !self.talk.has_child() || self.talk.is_out_of_time() {
            return;
        }
        let works = self.talk.seen.lists_at_once() || self.is_legacy_path;
        let method = if works { self.first_list().method } else { "server/discover" };
        let never_worked = !works && !self.talk.seen.era.is_modern();
        let lives = |column: &mut Self| {
            let probe = column.talk.ask(method, "", Envelope::Whole);
            probe.is_some_and(|probe| !probe.is_unanswered())
        };
        if never_worked || !lives(self) {
            self.talk.end(0);
        }
    }

    /// Is there a process to ask, and time to do it?
    fn finds_child(&mut self) -> bool {
        !self.talk.is_out_of_time() && (self.talk.has_child() || self.replace())
    }

    fn replace(&mut self) -> bool {
        if self.replacements >= MOST_REPLACEMENTS {
            self.seen().gave_up = Some("too many processes ended or hung");
            return false;
        }
        self.replacements += 1;
        self.talk.start(None) && (!self.is_legacy_path || self.shake_hands())
    }

    fn listen(&mut self, filter: &Filter) {
        if !self.finds_child() {
            return;
        }
        self.announce("subscriptions/listen");
        let Some(exchange) = self.talk.listen(&filter.text) else { return };
        let Exchange { probe, acknowledged, id } = exchange;
        let fault = match &acknowledged {
            Some(params) => listen_fault(params, &id, filter),
            None if probe.is_result() => Some("a result before any acknowledgement".to_owned()),
            None => Some(probe.words.clone()),
        };
        let is_silent = acknowledged.is_none() && matches!(probe.reply, Reply::Silence(_));
        let goes_on = self.talk.has_child() && !self.talk.close_stream(&id);
        let late = goes_on.then(|| "something follows after the stream was cancelled".to_owned());
        let fault = fault.or(late);
        self.seen().listen = Some(Listen { probe, fault });
        if is_silent {
            self.see_whether_it_lives();
        }
    }

    fn end(&mut self, is_main: bool) {
        if !self.talk.has_child() {
            return;
        }
        let how = self.talk.end(if is_main { MAIN_ENDS_MS } else { OTHER_ENDS_MS });
        if is_main {
            self.seen().was_ended = true;
            self.seen().outlives_input = matches!(how, Some(How::Sigterm | How::Sigkill));
        }
    }

    // ---- tools that may be called ----

    /// Is there what is to be called?
    fn look_for_tools(&mut self) {
        let seen = &self.talk.seen;
        let Some(list) = seen.tools() else { return };
        let mut calls = self.options.wishes.calls.iter();
        let Some(absent) = calls.find(|call| lacks(list, call)) else { return };
        let names = list.names.as_deref().unwrap_or_default();
        let shown = |name: &str| seen.shown(name).chars().take(SHOWN_NAME).collect::<String>();
        let first: Vec<_> = names.iter().take(SHOWN_NAMES).map(|name| shown(name)).collect();
        let rest = if names.len() > SHOWN_NAMES {
            format!(", ... ({} in all)", names.len())
        } else {
            String::new()
        };
        let has = if names.is_empty() { "none".to_owned() } else { first.join(", ") + &rest };
        let told = format!("no tool '{}'; it has {has}", shown(&absent.name));
        self.seen().absent_tools = Some(told);
    }

    /// Not those that are known to be absent.
    fn call_tools(&mut self) {
        for call in &self.options.wishes.calls {
            if self.talk.seen.tools().is_some_and(|list| lacks(list, call)) {
                continue;
            }
            let seen = if self.talk.start(None) { self.call(call) } else { None };
            let Some(seen) = seen else {
                self.seen().lacks_call = true;
                break;
            };
            self.seen().calls.push(seen);
            self.end(false);
        }
        self.end(false);
    }

    fn call(&mut self, call: &Call) -> Option<CallSeen> {
        self.announce("tools/call");
        let asked_before = self.talk.seen.asked.len();
        let members = format!("\"name\":{},\"arguments\":{}", quoted(&call.name), call.arguments);
        let first = self.talk.ask("tools/call", &members, Envelope::Whole)?;
        let wanted = first.error().filter(|_| first.code() == Some(code::MISSING_CAPABILITY));
        let wanted = wanted
            .and_then(|error| error.object("data"))
            .and_then(|data| data.get("requiredCapabilities").map(str::to_owned));
        let second = match wanted.filter(|_| self.talk.has_child()) {
            Some(wanted) => Some(self.talk.ask("tools/call", &members, Envelope::With(&wanted))?),
            None => None,
        };
        let was_asked = self.talk.seen.asked.len() > asked_before;
        Some(CallSeen { name: known_as(&call.name), first, second, was_asked })
    }
}

/// What is listened to, and its members as JSON text.
struct Filter {
    text: String,
    kinds: Vec<&'static str>,
}

/// All that is advertised; `None` where nothing is.
fn listen_filter(capabilities: &Object<'_>, absent: &str) -> Option<Filter> {
    let mut text = String::new();
    let mut kinds = Vec::new();
    for (capability, flag, kind) in [
        ("tools", "listChanged", "toolsListChanged"),
        ("prompts", "listChanged", "promptsListChanged"),
        ("resources", "listChanged", "resourcesListChanged"),
        ("resources", "subscribe", "resourceSubscriptions"),
    ] {
        if capabilities.object(capability).is_some_and(|offer| offer.is_true(flag)) {
            let value =
                if flag == "subscribe" { &*format!("[{}]", quoted(absent)) } else { "true" };
            let before = if kinds.is_empty() { "\"notifications\":{" } else { "," };
            text = [&text, before, "\"", kind, "\":", value].concat();
            kinds.push(kind);
        }
    }
    text.push('}');
    (!kinds.is_empty()).then_some(Filter { text, kinds })
}

/// What is wrong with the parameters of an acknowledgement.
fn listen_fault(params: &str, id: &str, filter: &Filter) -> Option<String> {
    let params = Object::parse(params).unwrap_or_default();
    let stream = params.object("_meta").and_then(|meta| meta.get(key::SUBSCRIPTION_ID));
    if !stream.is_some_and(|stream| same_value(stream, id)) {
        return Some("acknowledged under another subscriptionId than the id of the request".into());
    }
    let Some(granted) = params.object("notifications") else {
        return Some("acknowledged without an object 'notifications'".into());
    };
    let is_known = |name: &str| filter.kinds.iter().any(|kind| name.trim_matches('"') == *kind);
    let foreign = granted.iter().any(|(name, _)| !is_known(name));
    foreign.then(|| "acknowledged more than was asked for".into())
}

fn names_of(probe: &Probe, list: &List) -> Option<Vec<String>> {
    let result = probe.result()?;
    let items = array(result.get(list.member)?)?;
    let name = |item: &str| {
        let item = Object::parse(item).unwrap_or_default();
        known_as(&item.string(list.name).unwrap_or_default())
    };
    Some(items.take(MOST_ITEMS + 1).map(name).collect())
}

/// Is the tool known not to be there? What stands behind the last page that was read, nobody knows.
fn lacks(list: &Listing, call: &Call) -> bool {
    let name = known_as(&call.name);
    list.is_whole && !list.names.iter().flatten().any(|known| *known == name)
}

/// What stands for a name.
fn known_as(name: &str) -> String {
    if name.len() > LONG_NAME { sha256(name) } else { name.to_owned() }
}

/// Does a tool say that it may be run as a task of 2025-11-25?
fn may_be_task(tool: &str) -> bool {
    let execution = Object::parse(tool).and_then(|tool| tool.object("execution"));
    let support = execution.and_then(|execution| execution.string("taskSupport"));
    matches!(support.as_deref(), Some("optional" | "required"))
}

fn cursor_of(probe: &Probe) -> Option<String> {
    probe.result()?.get("nextCursor").filter(|raw| raw.starts_with('"')).map(str::to_owned)
}
