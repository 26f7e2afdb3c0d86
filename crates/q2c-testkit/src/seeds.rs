//! Checks that hold at every seed.

use std::ops::Range;
use std::panic::{RefUnwindSafe, catch_unwind};

/// The seeds that `make test` checks.
const SEEDS: Range<u64> = 0..1_000;
/// Names other seeds, such as `0..100000`.
const VARIABLE: &str = "Q2C_FAULT_SEEDS";

/// Calls `check` with each of the first 1,000 seeds, or with those that `Q2C_FAULT_SEEDS` names.
/// Panics at the first seed whose check panics, and says how to run that seed alone.
pub fn for_each_seed(test: &str, check: impl Fn(u64) + RefUnwindSafe) {
    let seeds = std::env::var(VARIABLE).map_or(SEEDS, |text| parse_seeds(&text));
    for seed in seeds {
        let checked = catch_unwind(|| check(seed));
        assert!(
            checked.is_ok(),
            "{test} fails at seed {seed}; for that one alone set {VARIABLE}={seed}..{}",
            seed + 1
        );
    }
}

fn parse_seeds(text: &str) -> Range<u64> {
    let bounds = text.split_once("..");
    let bounds = bounds.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    bounds.unwrap_or_else(|| panic!("{VARIABLE} is FROM..TO, found `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_its_seed() {
        let failed = catch_unwind(|| for_each_seed("a test", |seed| assert!(seed < 7)));
        let message = failed.expect_err("seed 7 fails");
        let message = message.downcast_ref::<String>().expect("a text");
        assert!(message.contains("at seed 7;") && message.contains("=7..8"));
        assert_eq!(parse_seeds("7..8"), 7..8);
    }
}
