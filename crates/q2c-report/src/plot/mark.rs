//! Lines and words that stand in a view beside its series.

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mark {
    /// A horizontal line, with its name at the right end.
    Height { y: f64, name: &'static str },
    /// A vertical line, with its name along the lower end.
    Limit { x: f64, name: &'static str },
    /// The begin of a part of the time: a vertical line, and the name of the part.
    Begin {
        x: f64,
        name: String,
        /// The first part begins with the axis, and needs no line.
        is_first: bool,
        /// Whether the name stands upright in the plot instead of above it: names of short parts
        /// would overlap.
        is_upright: bool,
    },
    /// The heading of a panel: what panels are of, and of which this one is.
    Heading {
        panel: usize,
        kind: &'static str,
        name: String,
    },
}
