//! Tables and sentences of `q2c place calibrate` that terminal and page share.

use crate::quantity::{median, number, range};
use crate::said::{Field, Said, Table};
use q2c_result::corun::{CalibrateResult, Pair, Work};

/// What was measured, in a line.
pub(crate) fn about(result: &CalibrateResult) -> String {
    format!(
        "CPUs {} and {} of one core · {} trials of {} s of each pair",
        result.cpus.0.0,
        result.cpus.1.0,
        result.trials,
        number(result.trial_s)
    )
}

pub(crate) fn work(of: Work) -> &'static str {
    match of {
        Work::Integer => "integer",
        Work::Branchy => "branchy",
        Work::Float => "floating point",
        Work::Vector => "vector",
        Work::Memory => "memory",
        Work::PollPause => "polling, PAUSE",
        Work::Poll => "polling",
        Work::Iopoll => "IOPOLL",
    }
}

/// All pairs.
pub(crate) fn pairs(result: &CalibrateResult) -> Table {
    let row = |pair: &Pair| -> Vec<Field> {
        let neighbour = pair.neighbour.map_or("nothing", work);
        let place = if pair.same_cpu { ", same CPU" } else { "" };
        vec![
            work(pair.own).into(),
            format!("{neighbour}{place}").into(),
            median(&pair.speed, 100.0).into(),
            range(&pair.speed, 100.0).into(),
        ]
    };
    Table {
        head: ["task", "beside", "speed\n% of alone", "[min, max]"]
            .map(String::from)
            .to_vec(),
        rows: result.pairs.iter().map(row).collect(),
        legend: "Median of the trials, each against the trial alone of the same round. On the same CPU two tasks share its time and not the pipeline.",
    }
}

/// The answer.
pub(crate) fn words(result: &CalibrateResult) -> Vec<Said> {
    let speeds = &result.speeds;
    let gain = 100.0 * (1.0 - speeds.compute_beside_compute / speeds.compute_beside_polling);
    vec![Said::plain(
        "a polling neighbour",
        format!(
            "computing tasks run at {} % of their speed beside one, at {} % beside another computing task: {} % less run time",
            number(100.0 * speeds.compute_beside_polling),
            number(100.0 * speeds.compute_beside_compute),
            number(gain)
        ),
    )]
}
