//! Tests the reports in the terminal as a whole, by what they are of.

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

/// A pipe: no colour, and the width that is taken where nothing tells one.
const PIPE: Screen = Screen {
    verbose: true,
    ..Screen::new(120, false)
};
