//! Tests of whole reports in a terminal, one module per kind.

#[path = "../fixture/mod.rs"]
mod fixture;
#[path = "../fixture/tune_jobs.rs"]
mod tune_jobs_fixture;
#[path = "../widths/mod.rs"]
mod widths;

mod analyze;
mod bench;
mod bench_rivals;
mod doctor;
mod replay;
mod rules;
mod simulated;
mod tune;

use q2c_report::terminal::Screen;

/// Defines tests that reports fit every width.
macro_rules! fits {
    ($($name:ident: $result:expr;)+) => {
        $(
            #[test]
            fn $name() {
                let result = $result;
                widths::fits(stringify!($name), |screen| result.document().text(screen));
            }
        )+
    };
}

mod every_width {
    use crate::{fixture, tune_jobs_fixture, widths};
    use q2c_report::Reported;

    fits! {
        tune: fixture::tune();
        tune_jobs: tune_jobs_fixture::over_jobs(&fixture::tune());
        doctor: fixture::tune().doctor;
        bench: fixture::bench();
        bench_stages: fixture::bench_stages();
        analyze: fixture::analyze();
        kernel_tune: fixture::kernel_tune();
        sweep: fixture::sweep();
        replay: fixture::replay();
        replay_saturated: fixture::replay_saturated();
        replay_outstanding: fixture::replay_outstanding();
        compare: fixture::compare();
        compare_published: fixture::compare_published();
        poll_study: fixture::poll_study();
        poll_search: fixture::poll_search();
        scale: fixture::scale();
        place_sim: fixture::place_sim();
        place_watch: fixture::place_watch();
        place_calibrate: fixture::place_calibrate();
        place_run: fixture::place_run();
        reproduce_all: fixture::reproduce_all();
    }
}

/// A pipe: no colour, and the default width.
const PIPE: Screen = Screen {
    verbose: true,
    ..Screen::new(120, false)
};
