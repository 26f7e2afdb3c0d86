//! Tests the page of a tune over several numbers of jobs in a browser.

#[path = "../fixture/tune_jobs.rs"]
pub mod tune_jobs_fixture;

use crate::fixture;
use serde_json::json;

#[test]
fn a_tune_over_jobs_is_drawn_in_every_view() {
    let result = tune_jobs_fixture::over_jobs(&fixture::tune());
    let mut page = open!(result);
    // Two of the four methods sleep, and have a miss rate.
    for (view, title, traces) in [
        (0, "KIOPS", 4),
        (1, "KIOPS per busy CPU", 4),
        (2, "CPU, % of one per job", 4),
        (3, "missed, %", 2),
    ] {
        for chart in ["jobs-4096", "jobs-65536"] {
            let plot = page.show_view(chart, view);
            assert_eq!(plot["y"], json!(title), "{plot}");
            assert_eq!(plot["traces"], json!(traces), "{plot}");
            assert_eq!(plot["groups"], json!(traces), "{plot}");
            assert_eq!(plot["broken"], json!(0), "{plot}");
        }
    }
    page.assert_quiet();
}
