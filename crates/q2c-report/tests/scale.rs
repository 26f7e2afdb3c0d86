//! The reports of `q2c scale predict`.

#[path = "fixture/figures.rs"]
mod figures;
mod fixture;
mod widths;

use fixture::scale as result;
use q2c_report::Reported;
use q2c_report::terminal::Screen;
use q2c_result::figures::Measures;
use q2c_result::scale::Answer;
use serde_json::json;

#[test]
fn scale_fits_every_width() {
    widths::fits("scale", |screen| result().document().text(screen));
}

/// No prediction is drawn as a measurement: the measured points are one solid trace, everything
/// else is dashed.
#[test]
fn a_prediction_is_dashed_and_a_measurement_is_solid() {
    let page = result().document().page().expect("make the page");
    let figures = figures::page_figures(&page);
    let traces = figures["scale"][0]["data"].as_array().expect("traces");
    for trace in traces {
        let measured = trace["name"] == "measured";
        assert_eq!(trace["line"]["dash"] == "dash", !measured, "{trace}");
        let jobs = if measured {
            json!([1.0, 2.0, 3.0, 4.0])
        } else {
            json!([5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0])
        };
        assert_eq!(trace["x"], jobs);
    }
    assert_eq!(traces.len(), 4);
    assert!(!page.contains(fixture::BOLD));
    assert_eq!(page.matches("</script>").count(), 3);
}

#[test]
fn what_is_not_known_is_said() {
    let screen = Screen::new(120, false);
    let mut unsure = result();
    (unsure.answer, unsure.ends_at) = (Answer::Uncertain, None);
    let text = unsure.document().text(screen);
    assert!(text.contains("not yet to be told: a lock shows"), "{text}");
    let mut nothing = result();
    (nothing.answer, nothing.ends_at, nothing.ends_between) = (Answer::NothingSeen, None, None);
    let text = nothing.document().text(screen);
    assert!(text.contains("no limit shows up to 4 jobs"), "{text}");
}

#[test]
fn each_row_says_whether_it_was_measured() {
    let csv = q2c_report::csv(&result().figures()).expect("make the CSV");
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 13);
    assert_eq!(rows[4], "4,true,200000,196000,208000");
    assert_eq!(rows[5], "5,false,250000,245000,260000");
}
