//! Starting the few threads there are.

use std::io;
use std::thread::{Builder, JoinHandle};

/// The threads do little.
const STACK: usize = 128 << 10;

/// Starts a thread. The work comes in a box, for the whole of starting a thread would stand in the
/// program once for each kind of work.
///
/// # Errors
/// Where the system has no room for another.
pub(super) fn start(
    name: &'static str,
    work: Box<dyn FnOnce() + Send>,
) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name.to_owned()).stack_size(STACK).spawn(work)
}
