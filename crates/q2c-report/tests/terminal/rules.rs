//! Tests the terminal reports on sleep rules: of sweeps, and of the kernel's own polling.

use crate::{PIPE, kernel_tune_fixture, sweep_fixture, widths};
use q2c_report::terminal;
use q2c_result::tune::Verdict;

#[test]
fn kernel_tune_fits_every_width() {
    let result = kernel_tune_fixture::realistic();
    widths::snapshots("kernel_tune", |screen| {
        terminal::kernel_tune(&result, screen)
    });
    let text = serde_json::to_string(&result).expect("JSON");
    let read = serde_json::from_str(&text).expect("the same");
    assert_eq!(result, read);
}

/// Without a method that pays and keeps the floor, classic polling is told, and no line to steer.
#[test]
fn a_kernel_without_room_to_sleep_is_told() {
    let mut result = kernel_tune_fixture::realistic();
    result.recommended = q2c_policy::Method::POLL;
    for (verdict, words) in [
        (Verdict::NoRoom, "no room to sleep:"),
        (Verdict::TradeOff, "kept 97.0 % of its IOPS; --min-iops"),
        (Verdict::Limits, "kept the limits"),
    ] {
        result.verdict = verdict;
        let text = terminal::kernel_tune(&result, PIPE);
        assert!(
            text.contains(words) && !text.contains("poll steer"),
            "{text}"
        );
    }
}

#[test]
fn sweep_fits_every_width() {
    let result = sweep_fixture::result();
    widths::snapshots("sweep", |screen| terminal::sweep(&result, screen));
}
