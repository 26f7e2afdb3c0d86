//! The rules, one file each. A windowed rule is a function from a
//! [`Window`](crate::windowed::Window) to a decision; a feedback rule implements
//! [`Lane`](crate::Lane) itself.

use crate::registry::Rule;

pub(crate) mod share;

/// Declares the module `rules/NAME.rs` for each name, and makes its `RULE` an entry of the
/// registry.
macro_rules! rules {
    ($($name:ident,)*) => {
        $(pub(crate) mod $name;)*

        /// All rules, by name in alphabetical order.
        pub static RULES: &[Rule] = &[$($name::RULE,)*];
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
