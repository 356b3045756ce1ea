//! The list of faults that `make mutants` plants follows the source: each still has its place.
#![allow(clippy::unwrap_used, reason = "what is unwrapped stands in the repository")]

#[path = "mutants/faults.rs"]
#[allow(dead_code, reason = "the planting uses more of it")]
mod faults;

use std::path::Path;

#[test]
fn each_has_its_place() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = faults::load(&root.join("tests/mutants/faults.txt")).unwrap();
    assert!(all.len() >= 60, "{} faults", all.len());
    for fault in &all {
        let (before, after) = fault.apply(root).unwrap();
        assert_ne!(before, after, "{}", fault.name);
    }
}
