//! The reports of `q2c poll study`.

#[path = "fixture/figures.rs"]
mod figures;
mod fixture;
mod widths;

use fixture::poll_study as result;
use q2c_report::Reported;
use q2c_report::terminal::Screen;
use q2c_result::figures::Measures;
use q2c_result::poll_study::ClaimVerdict;

const SCREEN: Screen = Screen {
    verbose: true,
    ..Screen::new(120, false)
};

#[test]
fn a_claim_is_told_with_the_share_of_the_sets() {
    let mut judged = result();
    judged.published.verdict = ClaimVerdict::DoesNotHold;
    judged.published.resamples = 1_000;
    judged.published.share = 0.013;
    let text = judged.document().text(SCREEN).replace('\n', " ");
    assert!(text.contains("does not hold"), "{text}");
    assert!(text.contains("1.3 % of 1000 resampled sets"), "{text}");
    judged.all = None;
    let text = judged.document().text(SCREEN);
    assert!(text.contains("no answer"), "{text}");
}

/// A broken limit is drawn as a loss of 100 %, and a pattern that does not count as a gap.
#[test]
fn the_map_shows_what_was_left_out() {
    let page = result().document().page().expect("make the page");
    let figures = figures::page_figures(&page);
    let views = &figures["poll-study"];
    let losses = |view: usize| views[view]["data"][0]["z"][0].clone();
    assert_eq!(losses(0), serde_json::json!([50.0, 100.0, null]));
    assert_eq!(losses(1), serde_json::json!([12.5, 100.0, null]));
    assert!(!page.contains(fixture::BOLD));
}

#[test]
fn a_broken_limit_has_no_loss_in_csv() {
    let csv = q2c_report::csv(&result().figures()).expect("make the CSV");
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 3, "{csv}");
    assert!(rows[1].ends_with(",disk,0.125"), "{csv}");
    assert!(rows[2].ends_with("second,disk,"), "{csv}");
}

#[test]
fn it_fits_every_width() {
    widths::fits("poll_study", |screen| result().document().text(screen));
}
