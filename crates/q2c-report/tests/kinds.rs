//! The reports of `q2c poll study`, `poll search`, `scale predict` and `place`.

#[path = "fixture/figures.rs"]
mod figures;
mod fixture;

use figures::page_figures;
use fixture::{
    place_calibrate, place_run, place_sim, place_watch, poll_search, poll_study, reproduce,
    reproduce_all, scale,
};
use q2c_model::stats::Interval;
use q2c_report::Reported;
use q2c_report::terminal::Screen;
use q2c_result::reproduce::ReproduceVerdict;
use q2c_result::scale::Answer;
use serde_json::{Value, json};

/// The reports of results that contain a string with markup.
fn reports() -> [Box<dyn Reported>; 9] {
    [
        Box::new(poll_study()),
        Box::new(poll_search()),
        Box::new(scale()),
        Box::new(place_sim()),
        Box::new(place_watch()),
        Box::new(place_calibrate()),
        Box::new(place_run()),
        Box::new(reproduce()),
        Box::new(reproduce_all()),
    ]
}

fn text(result: &impl Reported) -> String {
    result.document().text(Screen::new(2_000, false))
}

fn figure(result: &impl Reported, name: &str) -> Value {
    page_figures(&result.document().page().expect("make the page"))[name].clone()
}

#[test]
fn no_page_has_a_name_that_is_markup() {
    for result in reports() {
        let page = result.document().page().expect("make the page");
        assert!(!page.contains(fixture::BOLD), "{page}");
        // The library of charts, the data and the page's own script: no name ended one of them.
        assert_eq!(page.matches("</script>").count(), 3);
    }
}

#[test]
fn a_claim_is_told_with_the_share_of_the_sets() {
    let mut judged = poll_study();
    judged.published.verdict = ReproduceVerdict::DoesNotHold;
    judged.published.resamples = 1_000;
    judged.published.share = 0.013;
    let claim = text(&judged).replace('\n', " ");
    assert!(claim.contains("does not hold"), "{claim}");
    assert!(claim.contains("1.3 % of 1000 resampled sets"), "{claim}");
    judged.all = None;
    assert!(text(&judged).contains("no answer"));
}

/// A broken limit is drawn as a loss of 100 %; a pattern that does not count is a gap.
#[test]
fn the_map_of_a_study_shows_what_was_left_out() {
    let views = figure(&poll_study(), "poll-study");
    assert_eq!(
        [0, 1].map(|view: usize| views[view]["data"][0]["z"][0].clone()),
        [json!([50.0, 100.0, null]), json!([12.5, 100.0, null])]
    );
}

/// A contender whose advantage may be below zero has not won. The finalist is drawn at its losses,
/// on the patterns searched and on those held out, in percent.
#[test]
fn what_is_not_told_apart_has_not_won() {
    let mut unsure = poll_search();
    unsure.contenders[1].against[0].low = -0.01;
    assert!(text(&unsure).contains("no winner"));
    let finalist = &figure(&poll_search(), "poll-search")[0]["data"][0];
    assert_eq!(
        [&finalist["x"], &finalist["y"]],
        [&json!([11.0]), &json!([22.0])]
    );
}

/// Predictions are not drawn as measurements: the measured points are one solid trace, and
/// everything else is dashed.
#[test]
fn a_prediction_is_dashed_and_a_measurement_is_solid() {
    let drawn = figure(&scale(), "scale");
    let traces = drawn[0]["data"].as_array().expect("traces");
    for trace in traces {
        let measured = trace["name"] == "measured";
        assert_eq!(trace["line"]["dash"] == "dash", !measured, "{trace}");
        let jobs: Vec<f64> = if measured { 1..5 } else { 5..13 }.map(f64::from).collect();
        assert_eq!(trace["x"], json!(jobs));
    }
    assert_eq!(traces.len(), 4);
}

#[test]
fn what_is_not_known_of_scaling_is_said() {
    let mut unsure = scale();
    (unsure.answer, unsure.ends_at) = (Answer::Uncertain, None);
    assert!(text(&unsure).contains("not yet to be told: a lock shows"));
    let mut nothing = scale();
    (nothing.answer, nothing.ends_at, nothing.ends_between) = (Answer::NothingSeen, None, None);
    assert!(text(&nothing).contains("no limit shows up to 4 jobs"));
}

#[test]
fn a_gain_is_told_only_where_the_interval_leaves_out_nothing() {
    for (trials, words) in [
        (
            &[2.0, 3.0][..],
            "lets computing tasks run faster than the kernel's own",
        ),
        (&[-1.0, 3.0], "cannot be told from the kernel's own"),
        (&[-2.0, -1.0], "makes computing tasks slower than"),
        (&[9.0], "was tried once beside"),
    ] {
        let mut result = place_run();
        result.classes[0].gains[0].t_over_t_minus_1_pct = Interval::from_samples(trials);
        assert!(text(&result).contains(words), "{words}");
    }
}
