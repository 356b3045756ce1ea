//! What the actors mean by what they write. Each line travels to the bridge with its meaning, so
//! the ledger never has to read a line the way the core does.

use std::rc::Rc;

/// A client's request with a good envelope.
#[derive(Debug)]
pub(crate) struct Ask {
    /// Number of the leg, unique in a run; travels up in `_meta` (K1).
    pub(crate) leg: u64,
    /// The id as JSON text.
    pub(crate) id: String,
    pub(crate) method: String,
    /// The members of `params` that the server may see, without braces and `_meta`.
    pub(crate) salient: String,
    /// What it may be asked.
    pub(crate) allows: u8,
    pub(crate) level: Option<usize>,
    /// As JSON text.
    pub(crate) token: Option<String>,
    /// Its parameters or its level break the rules (B11, B12): it is never forwarded.
    pub(crate) is_illegal: bool,
    pub(crate) filter: Option<Filter>,
    pub(crate) retry: Option<Retry>,
}

/// What a `subscriptions/listen` asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) uris: Vec<String>,
}

/// The part of a request by which a client comes back (E15).
#[derive(Clone, Debug)]
pub(crate) struct Retry {
    /// `None`: the state is no string.
    pub(crate) state: Option<String>,
    /// By key; keys that were never asked are among them.
    pub(crate) given: Vec<(String, Given)>,
}

/// One member of `inputResponses`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// Legal for its question; the number is in its `sim/a`.
    Legal { number: u64, consents: bool },
    /// An object that no such question takes (E15.5).
    Illegal,
    /// No answer at all (E15.4).
    Missing,
}

/// What a line of the client means.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    Request(Rc<Ask>),
    /// `notifications/cancelled` for this id.
    Cancel(String),
    /// A request that is refused at once with this code, before any server is looked at.
    Refused(Rc<Ask>, i64),
    /// No message: answered at once with this code, under this id or none.
    Wrong(Option<String>, i64),
    /// `ping` without envelope (I2).
    Ping(Rc<Ask>),
    /// `initialize` without envelope.
    Initialize(String),
    /// A legacy client's line: passes as it is; the ids of the requests in it, and the one that
    /// it cancels.
    Legacy(Vec<String>, Option<String>),
    /// Neither answered nor forwarded.
    Nothing,
}

/// What a server asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Form,
    Url,
    Sampling,
    Roots,
}

#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// The server's id as JSON text.
    pub(crate) id: String,
    /// Unique in a run.
    pub(crate) mark: u64,
    pub(crate) kind: Kind,
    pub(crate) needs: u8,
}

/// How a server answers a request of ours.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reply {
    /// An object; does it say that the tool failed?
    Result {
        failed: bool,
    },
    /// A result that is no object (A18).
    NotAnObject,
    Error {
        code: Option<i64>,
    },
    /// -32042 naming these visits (E28).
    Visits(Vec<u64>),
    /// A line that is not JSON and names the id (A16).
    Broken,
    /// An InitializeResult that holds.
    Welcome(Rc<Offers>),
    /// A DiscoverResult that serves 2026-07-28.
    Discovered,
}

/// What a legacy server declares in its handshake.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Offers {
    pub(crate) revision: usize,
    pub(crate) capabilities: Vec<&'static str>,
    pub(crate) tools_changed: bool,
    pub(crate) prompts_changed: bool,
    pub(crate) resources_changed: bool,
    pub(crate) subscribe: bool,
    /// Methods of its own (B10).
    pub(crate) vendor: bool,
    /// It declared nothing and is asked for tools (B8); does it have any?
    pub(crate) undeclared_tools: Option<bool>,
}

impl Offers {
    pub(crate) fn has(&self, capability: &str) -> bool {
        self.capabilities.contains(&capability)
    }
}

/// What a line of the server, or one element of its batch, means.
#[derive(Clone, Debug)]
pub(crate) enum Told {
    Reply(u64, Reply),
    Asked(Rc<Question>),
    /// A question nobody could answer, or a method nobody knows: refused at once with this code.
    Hopeless(String, i64),
    Ping(String),
    /// The server withdraws its request with this id (E25).
    Withdrawn(String),
    /// Under a token of ours, with the place in `Progress` of the run.
    Progress {
        token: u64,
        value: f64,
    },
    Log {
        level: usize,
        number: u64,
    },
    Changed(Topic),
    /// `notifications/elicitation/complete` for this visit.
    Visited(u64),
    /// A notification of a modern server, for this stream.
    Note {
        stream: Option<u64>,
    },
    /// Nothing that may have an effect.
    Noise,
}

/// What has changed at a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Topic {
    Tools,
    Prompts,
    Resources,
    Updated(String),
}

impl Topic {
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Topic::Tools => "notifications/tools/list_changed",
            Topic::Prompts => "notifications/prompts/list_changed",
            Topic::Resources => "notifications/resources/list_changed",
            Topic::Updated(_) => "notifications/resources/updated",
        }
    }
}
