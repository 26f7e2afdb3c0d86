//! The reports of `q2c poll search`.

#[path = "fixture/figures.rs"]
mod figures;
mod fixture;
mod widths;

use fixture::poll_search as result;
use q2c_report::Reported;
use q2c_report::terminal::Screen;
use q2c_result::figures::Measures;

const SCREEN: Screen = Screen {
    verbose: true,
    ..Screen::new(120, false)
};

/// An interval that holds zero is no win, and neither is a reference without losses.
#[test]
fn what_is_not_told_apart_has_not_won() {
    let mut unsure = result();
    unsure.contenders[1].against[0].low = -0.01;
    let text = unsure.document().text(SCREEN);
    assert!(text.contains("no winner"), "{text}");
}

#[test]
fn page_and_csv_have_what_was_held_out() {
    let page = result().document().page().expect("make the page");
    let figures = figures::page_figures(&page);
    let finalist = &figures["poll-search"][0]["data"][0];
    assert_eq!(finalist["x"], serde_json::json!([11.0]));
    assert_eq!(finalist["y"], serde_json::json!([22.0]));
    assert!(!page.contains(fixture::BOLD));
    let csv = q2c_report::csv(&result().figures()).expect("make the CSV");
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 5, "{csv}");
    assert_eq!(rows[1], "pas,reference,disk,disk,0.375");
    assert_eq!(rows[4], "rule:0.8 * p10,finalist,zram,zram,");
}

#[test]
fn it_fits_every_width() {
    widths::fits("poll_search", |screen| result().document().text(screen));
}
