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

#[test]
fn a_search_in_a_terminal() {
    let text = result().document().text(SCREEN);
    for said in [
        "900 configurations on 1 patterns of 1 sources",
        "held out: disk, zram (2 patterns)",
        "11.0 12.5",
        "finalist 11.0 22.0",
        "better than every reference on what was held out: rule:0.8 * p10",
        "2.50 to 3.50",
    ] {
        let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(squeezed.contains(said), "{said} is not in\n{text}");
    }
    // The least loss on what was held out comes first.
    let at = |said: &str| text.find(said).unwrap();
    assert!(at("  finalist") < at("  reference"), "{text}");
    let one_line = text.replace("\n  ", " ");
    let said = "better than pas by 15.0 points of loss (95 % of resampled sets of sources: 5.0 to 30.0), on 1 of 2 patterns";
    assert!(one_line.contains(said), "{text}");
}

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
    let figures = figures::of(&page);
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
