//! A result as one HTML file that opens without a network: charts, tables, and how to apply the
//! result.
//!
//! The page loads nothing from elsewhere, and its Content-Security-Policy forbids it. Only the two
//! scripts whose hashes the policy names can run, whatever a string in the result says.

mod document;
mod figure;
mod plotly;
mod shell;

pub(crate) use document::page;

use std::time::{Duration, UNIX_EPOCH};

/// The start as `2026-01-01 00:00 UTC`; after the year 9999 as seconds since 1970.
pub(crate) fn started(unix_s: u64) -> String {
    const END_OF_YEAR_9999: u64 = 253_402_300_799;
    if unix_s > END_OF_YEAR_9999 {
        return format!("{unix_s} s after 1970");
    }
    let time = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(unix_s));
    let time = time.to_string().replace('T', " ");
    let time = time.trim_end_matches(":00Z").trim_end_matches('Z');
    format!("{time} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_a_date() {
        assert_eq!(started(1_767_225_600), "2026-01-01 00:00 UTC");
        assert_eq!(started(951_782_399), "2000-02-28 23:59:59 UTC");
        assert_eq!(started(u64::MAX), "18446744073709551615 s after 1970");
    }
}
