//! Tests the reports in the terminal as a whole, by what they are of.

#[path = "../fixture/analyze.rs"]
mod analyze_fixture;
#[path = "../fixture/bench.rs"]
mod bench_fixture;
#[path = "../fixture/bench_stages.rs"]
mod bench_stages_fixture;
#[path = "../fixture/mod.rs"]
mod fixture;
#[path = "../fixture/kernel_tune.rs"]
mod kernel_tune_fixture;
#[path = "../fixture/program.rs"]
mod program_fixture;
#[path = "../fixture/replay.rs"]
mod replay_fixture;
#[path = "../fixture/sweep.rs"]
mod sweep_fixture;
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
