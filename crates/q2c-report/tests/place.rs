//! The reports of `q2c place sim`.

mod fixture;
mod widths;

use fixture::{
    place_calibrate as calibration, place_run as placements, place_sim as result,
    place_watch as look,
};
use q2c_model::stats::Interval;
use q2c_report::Reported;
use q2c_report::terminal::Screen;
use q2c_result::figures::Measures;

#[test]
fn place_fits_every_width() {
    widths::fits("place", |screen| result().document().text(screen));
}

#[test]
fn the_page_has_its_charts_and_nothing_hostile() {
    let page = result().document().page().expect("make the page");
    assert!(!page.contains(fixture::BOLD));
    assert!(page.contains("id=\"place-0\"") || page.contains("place-0"));
    assert!(page.contains("colocate over spread"));
}

#[test]
fn watch_fits_every_width() {
    widths::fits("watch", |screen| look().document().text(screen));
}

#[test]
fn the_page_of_a_look_has_nothing_hostile() {
    let page = look().document().page().expect("make the page");
    assert!(!page.contains(fixture::BOLD));
    assert!(page.contains("<h2>Cores</h2>"));
}

#[test]
fn calibration_fits_every_width() {
    widths::fits("calibration", |s| calibration().document().text(s));
    let page = calibration().document().page().expect("make the page");
    assert!(page.contains("integer, same CPU") || page.contains("same CPU"));
    let csv = q2c_report::csv(&calibration().figures()).expect("make the CSV");
    assert_eq!(
        csv.lines().nth(2),
        Some("integer,poll_pause,true,3,0.5,0.49,0.5")
    );
}

#[test]
fn measured_placements_fits_every_width() {
    widths::fits("measured_placements", |s| placements().document().text(s));
    let page = placements().document().page().expect("make the page");
    assert!(!page.contains(fixture::BOLD));
    let csv = q2c_report::csv(&placements().figures()).expect("make the CSV");
    let first = csv.lines().nth(1).expect("a row");
    assert!(
        first.starts_with("float,free,3,1.4,1.38,1.45,11500,"),
        "{first}"
    );
}

#[test]
fn a_gain_is_told_only_where_the_interval_leaves_out_nothing() {
    let said = |trials: &[f64]| {
        let mut result = placements();
        result.classes[0].gains[0].t_over_t_minus_1_pct = Interval::from_samples(trials);
        result.document().text(Screen::new(200, false))
    };
    assert!(said(&[2.0, 3.0]).contains("lets computing tasks run faster than the kernel's own"));
    assert!(said(&[-1.0, 3.0]).contains("cannot be told from the kernel's own"));
    assert!(said(&[-2.0, -1.0]).contains("makes computing tasks slower than"));
    assert!(said(&[9.0]).contains("was tried once beside"));
}
