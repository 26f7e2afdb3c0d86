//! Helpers that put lists and alternatives into words.

pub(crate) use q2c_model::{distinct, grouped};
use serde::Serialize;
use std::fmt::Display;

pub(crate) fn joined<T: ToString>(items: impl IntoIterator<Item = T>, between: &str) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(between)
}

pub(crate) fn listed<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    joined(items, ", ")
}

/// The items joined by commas; `None` for no items.
pub(crate) fn listed_if_any<T: ToString>(items: impl IntoIterator<Item = T>) -> Option<String> {
    Some(listed(items)).filter(|text| !text.is_empty())
}

/// `text` if `is_so`, else an empty text.
pub(crate) fn when(is_so: bool, text: &str) -> &str {
    if is_so { text } else { "" }
}

/// The JSON name of an enum variant without fields, with blanks for `-` and `_`: `page cache`.
pub(crate) fn variant_words(value: impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().replace(['-', '_'], " ")
}

pub(crate) fn yes_or_no(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

/// `1 job`, `4 jobs`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(n: N, noun: &str) -> String {
    let s = when(n != N::from(1), "s");
    format!("{n} {noun}{s}")
}

pub(crate) fn jobs(n: u32) -> String {
    counted(n, "job")
}
