//! Tables and sentences of `q2c scale predict` that terminal and page share.

use crate::analysis::time;
use crate::quantity::{NOTHING, iops, number};
use crate::said::{Field, Said, Table, Weight};
use q2c_result::scale::{Answer, CurvePoint, Parameters, Resource, ScaleResult, Value};

/// Rows of the terminal's table: more of the curve are in the page and in CSV.
const ROWS: usize = 16;

/// What the prediction is about.
pub(crate) fn title(result: &ScaleResult) -> String {
    match (&result.run, &result.parameters_file) {
        (Some(run), _) => run.path.clone(),
        (None, Some(file)) => file.clone(),
        (None, None) => "parameters".to_owned(),
    }
}

/// The prediction in a line.
pub(crate) fn about(result: &ScaleResult) -> String {
    let jobs = format!(
        "predicted up to {} jobs on {} cores",
        result.jobs, result.cores
    );
    let from = match (&result.run, &result.parameters_file) {
        (Some(run), None) => format!(
            " · from {} {} depth {} {} {}, measured up to {} jobs on {} physical cores",
            run.engine, run.method, run.depth, run.bs, run.rw, run.fitted_up_to, run.physical_cores
        ),
        (_, Some(file)) => format!(" · with the parameters of {file}"),
        _ => String::new(),
    };
    jobs + &from
}

/// The resource in words.
pub(crate) fn resource(of: Resource) -> &'static str {
    match of {
        Resource::Cpu => "cores",
        Resource::Lock => "a lock",
        Resource::CacheLine => "a shared cache line",
        Resource::Tags => "requests of the hardware queues",
        Resource::Device => "the device",
    }
}

/// Where scaling ends.
pub(crate) fn answer(result: &ScaleResult) -> Said {
    let by = result.resource.map_or("nothing", resource);
    let between = result
        .ends_between
        .map_or_else(String::new, |(low, high)| match high {
            Some(high) => format!("{low} to {high} jobs"),
            None => format!("{low} jobs or more"),
        });
    match (result.answer, result.ends_at) {
        (Answer::Ends, Some(end)) => {
            let falls = result.peak.map_or_else(String::new, |peak| {
                format!("; throughput is predicted to fall beyond {peak}")
            });
            Said::new(
                Weight::Good,
                "scaling ends",
                format!("at {end} jobs ({between}), by {by}{falls}"),
            )
        }
        (Answer::Uncertain, _) => Said::new(
            Weight::Caution,
            "not yet to be told",
            format!(
                "{by} shows, but too little of it: scaling may end anywhere from {between}; measure more jobs"
            ),
        ),
        (Answer::Beyond, _) => Said::plain(
            "scaling",
            format!(
                "does not end up to {} jobs by anything that is known",
                result.jobs
            ),
        ),
        _ => Said::new(
            Weight::Caution,
            "nothing seen",
            format!(
                "no limit shows up to {} jobs, so where scaling ends cannot be predicted; the curve is the one without a limit",
                result.run.as_ref().map_or(0, |run| run.fitted_up_to)
            ),
        ),
    }
}

/// What qualifies the prediction.
pub(crate) fn words(result: &ScaleResult) -> Vec<Said> {
    let mut said = Vec::new();
    if !result.what_if.is_empty() {
        let all = result
            .what_if
            .iter()
            .map(|what| format!("{} +{} %", resource(what.resource), number(what.gain_pct)));
        let jobs = result.what_if[0].jobs;
        said.push(Said::plain(
            "without its limit",
            format!(
                "throughput at {jobs} jobs: {}",
                all.collect::<Vec<_>>().join(", ")
            ),
        ));
    }
    if let Some(stage) = &result.parameters.shared_stage {
        said.push(Said::plain(
            "seen in",
            format!("stage {stage}, which grows with the jobs"),
        ));
    }
    if let Some(error) = result.leave_out_error_pct {
        let of = match result.parameters_file {
            None => "of each measured point from the others",
            Some(_) => "of the measured points, to which nothing was fitted",
        };
        said.push(Said::plain(
            "error",
            format!("{} % on average, {of}", number(error)),
        ));
    }
    said
}

/// The curve, thinned out where it has many points; every measured one is there.
pub(crate) fn curve(result: &ScaleResult) -> Table {
    let predicted = result.curve.iter().filter(|p| !p.measured).count();
    let every = predicted.div_ceil(ROWS).max(1);
    let mut nth = 0;
    let shown = result.curve.iter().filter(|point| {
        nth += usize::from(!point.measured);
        let kept = point.jobs == result.jobs || Some(point.jobs) == result.ends_at;
        point.measured || kept || nth % every == 0
    });
    let row = |point: &CurvePoint| -> Vec<Field> {
        let what = if point.measured {
            "measured"
        } else {
            "predicted"
        };
        vec![
            point.jobs.to_string().into(),
            what.into(),
            iops(point.iops).into(),
            iops(point.low).into(),
            iops(point.high).into(),
        ]
    };
    Table {
        head: ["jobs", "", "IOPS", "low", "high"]
            .map(String::from)
            .to_vec(),
        rows: shown.map(row).collect(),
        legend: "Measured: median, least and largest trial. Predicted: the model, and 95 % of its resampled fits with its error at \
                 points left out.",
    }
}

/// The parameters.
pub(crate) fn parameters(of: &Parameters) -> Table {
    let ns = |name: &str, value: Value| row(name, value, time);
    let mut rows = vec![
        ns("on the core", of.cpu_ns),
        ns("interrupt, wake-up and other", of.rest_ns),
        ns("in the device", of.device_ns),
    ];
    rows.extend(
        of.device_parallel
            .map(|value| row("device serves at once", value, number)),
    );
    if of.lock_ns.value > 0.0 {
        rows.push(ns("lock held", of.lock_ns));
        rows.push(row("growth by each waiter", of.lock_growth, number));
    }
    if of.line_ns.value > 0.0 {
        rows.push(ns("cache line, each further core", of.line_ns));
    }
    if let Some((queues, tags)) = of.queues.zip(of.tags) {
        let whole = |value: f64| format!("{value:.0}");
        rows.push(row("hardware queues", Value::exact(queues.into()), whole));
        rows.push(row("requests of each", Value::exact(tags.into()), whole));
    }
    Table {
        head: ["of each I/O", "value", "low", "high"]
            .map(String::from)
            .to_vec(),
        rows,
        legend: "",
    }
}

fn row(name: &str, value: Value, text: impl Fn(f64) -> String) -> Vec<Field> {
    let edge = |edge: f64| match value.low < value.high {
        true => text(edge),
        false => NOTHING.to_owned(),
    };
    vec![
        name.into(),
        text(value.value).into(),
        edge(value.low).into(),
        edge(value.high).into(),
    ]
}
