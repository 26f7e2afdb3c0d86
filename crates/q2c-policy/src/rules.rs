//! The rules, one file each: functions from a [`BucketWindow`](crate::windowed::BucketWindow) to a
//! decision, or feedback rules that implement [`Lane`](crate::Lane).

use crate::{Lane, SleepRule};

pub(crate) mod share;

fn each_lane<L: Lane + 'static>(lanes: usize, new: impl Fn() -> L) -> Vec<Box<dyn Lane>> {
    (0..lanes)
        .map(|_| Box::new(new()) as Box<dyn Lane>)
        .collect()
}

/// Declares the module `rules/NAME.rs` for each name and enters its `RULE` into the registry.
macro_rules! rules {
    ($($name:ident,)*) => {
        $(pub mod $name;)*

        /// All rules, by name in alphabetical order.
        pub static RULES: &[SleepRule] = &[$($name::RULE,)*];
    };
}

rules! {
    dpas,
    ehp,
    ewma,
    fixed,
    hypi,
    linux410,
    lmd,
    mean,
    min,
    pas,
    qt,
    quantile,
    recent,
    rule,
    uring,
}
