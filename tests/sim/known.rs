//! Faults of the core that are known and not mended yet: their rules are counted, not failed.
