//! The rules, one file each: functions from a [`BucketWindow`](crate::windowed::BucketWindow) to a
//! decision, or feedback rules that implement [`Lane`](crate::Lane).

use crate::SleepRule;

pub(crate) mod share;

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
