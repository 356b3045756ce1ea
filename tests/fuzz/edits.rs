//! Whatever edits raw bytes: the bytes, edited and read, are the tree, read and edited (A6).

use super::rng::Rng;
use super::words::input;
use super::{Target, Verdict, discover, errors, notes, results, upward};

pub(crate) const TARGET: Target = Target { name: "edits", seeds: 3_000, generate, check };

/// One kind of edit: what fits it, and what judges it.
pub(crate) struct Edit {
    pub(crate) shape: fn(&mut Rng) -> &'static str,
    pub(crate) check: fn(&mut Rng, &str) -> Verdict,
}

const EDITS: [&Edit; 9] = [
    &results::EDIT,
    &results::EDIT,
    &results::EDIT,
    &upward::EDIT,
    &notes::PROGRESS,
    &notes::LOG,
    &notes::CHANGE,
    &discover::EDIT,
    &errors::EDIT,
];

fn generate(rng: &mut Rng) -> Vec<u8> {
    let edit = rng.pick(&EDITS);
    let shape = (edit.shape)(rng);
    input(rng, shape)
}

fn check(rng: &mut Rng, bytes: &[u8]) -> Verdict {
    let edit = rng.pick(&EDITS);
    (edit.check)(rng, &String::from_utf8_lossy(bytes))
}
