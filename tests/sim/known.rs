//! Faults of the core that are known and not mended yet. A run that breaks one of these rules is
//! counted and not failed, so that the rest of the simulation stays of use meanwhile.

/// The rule, and what is known about it.
pub(crate) const FAULTS: [(&str, &str); 0] = [];

pub(crate) fn is_known(rule: &str) -> bool {
    FAULTS.iter().any(|(known, _)| *known == rule)
}
