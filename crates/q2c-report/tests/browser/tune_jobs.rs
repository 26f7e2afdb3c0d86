//! Tests the page of a tune over several numbers of jobs in a browser.

#[path = "../fixture/tune_jobs.rs"]
pub mod tune_jobs_fixture;

use crate::fixture;

#[test]
fn a_tune_over_jobs_is_drawn_in_every_view() {
    let mut page = open!(tune_jobs_fixture::over_jobs(&fixture::tune()));
    // Two of the four methods sleep, and have a miss rate.
    for chart in ["jobs-4096", "jobs-65536"] {
        let throughput = [("KIOPS", 4), ("KIOPS per busy CPU", 4)];
        let prices = [("CPU, % of one per job", 4), ("missed, %", 2)];
        page.assert_views(chart, &[throughput, prices].concat());
    }
}
