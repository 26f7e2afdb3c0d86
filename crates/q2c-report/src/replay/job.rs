//! The replayed trace and the settings of the replay in words, and the tables of its sums,
//! latencies and trials.

use crate::analysis::latency_name;
use crate::label::cpu_ranges;
use crate::note::{Note, ReportField, ReportTable, row};
use crate::phrase::{listed_if_any, when, yes_or_no};
use crate::quantity::{DASH, count, duration, number, percent, range};
use q2c_model::Bytes;
use q2c_model::replay::{Idle, Mode, Writes};
use q2c_model::stats::Interval;
use q2c_result::replay::{Lateness, ReplayJob, ReplayResult, ReplayTrial, Spread, TraceFacts};

/// True if requests were submitted at their recorded times.
pub(crate) fn is_timed(job: &ReplayJob) -> bool {
    matches!(job.mode, Mode::Timed { .. })
}

/// The trace in short: `24 780 requests in 60.0 s`.
pub(crate) fn trace(trace: &TraceFacts) -> String {
    let requests = count(trace.requests);
    format!("{requests} requests in {}", duration(trace.length_s * 1e9))
}

/// The replay's mode: `timed, 2 times as fast`, `outstanding (requests), idle time squeezed` or
/// `closed, one request at a time for each pid`.
pub(crate) fn mode(job: &ReplayJob) -> String {
    match job.mode {
        Mode::Timed { speed: 1.0 } => "timed".to_owned(),
        Mode::Timed { speed } => format!("timed, {speed} times as fast"),
        Mode::Outstanding { count, idle } => {
            let idle = match idle {
                Idle::Keep => "idle time kept",
                Idle::Squeeze => "idle time squeezed",
            };
            format!("outstanding ({count}), {idle}")
        }
        Mode::Closed { lane } => format!("closed, one request at a time for each {lane}"),
    }
}

/// The idle share of a trace whose idle time this mode leaves out; `None` if it keeps the idle
/// time, or if there is none.
pub(super) fn squeezed_share(job: &ReplayJob, trace: &TraceFacts) -> Option<f64> {
    let is_squeezed = matches!(job.mode, Mode::Outstanding { idle, .. } if idle == Idle::Squeeze);
    trace.idle_share.filter(|share| is_squeezed && *share > 0.0)
}

/// A caution that the mode leaves out the idle time of the trace, and which options keep it; `None`
/// if the idle time is kept or there is none.
pub(crate) fn idle_caution(job: &ReplayJob, trace: &TraceFacts) -> Option<String> {
    let share = percent(squeezed_share(job, trace)?);
    Some(format!(
        "keeps the number in flight and leaves out the time with nothing in flight, {share} of this \
         trace's. Completion time and IOPS are of the workload without its pauses. --idle keep \
         has the pauses, --mode timed has the recorded times"
    ))
}

pub(crate) fn job(job: &ReplayJob, trace: &TraceFacts) -> Vec<Note> {
    let mut facts = trace_text(trace);
    if let Some(name) = &job.process {
        facts += &format!("; only requests of process {name}");
    }
    let settings = [("submitted", submission(job)), ("mapped", mapping(job))];
    let mut notes = vec![Note::plain("trace", facts)];
    notes.extend(settings.map(|(heading, text)| Note::plain(heading, text)));
    notes.extend(Note::plains("preconditioned", &job.precondition));
    notes
}

fn trace_text(trace: &TraceFacts) -> String {
    let ops = trace.ops.iter();
    let ops = listed_if_any(ops.map(|(op, n)| format!("{} {op}", count(*n))));
    let [data, largest, span] =
        [Bytes(trace.bytes), trace.largest, trace.span].map(Bytes::in_short);
    let source = &trace.source;
    let mut text =
        format!("from {source}; {data} of data, requests up to {largest}, addresses up to {span}");
    text += &ops.map(|ops| format!("; {ops}")).unwrap_or_default();
    if trace.devices.len() > 1 {
        text += &format!("; {} devices", trace.devices.len());
    }
    if trace.completed < trace.requests {
        let ended = count(trace.completed);
        text += &format!("; {ended} requests have a completion");
    }
    text += &load_text(trace);
    if trace.back_in_time > 0 {
        let back = count(trace.back_in_time);
        text += &format!("; {back} requests lie before the one in front of them");
    }
    text
}

fn load_text(trace: &TraceFacts) -> String {
    let idle = trace.idle_share;
    let idle = idle.map(|share| format!("; idle {} of its time", percent(share)));
    let of_kind = |layer| format!("{} adds", latency_name(layer));
    let latencies = trace.layer.map_or("latencies add".to_owned(), of_kind);
    let sum = trace.sum_latency_s;
    let sum = sum.map(|s| format!("; recorded {latencies} up to {}", duration(s * 1e9)));
    idle.into_iter().chain(sum).collect()
}

fn submission(job: &ReplayJob) -> String {
    let threads = match job.submitters {
        1 => "1 thread".to_owned(),
        n => format!("{n} threads by {}", job.by),
    };
    let mut text = format!("by {}, {threads} for each target", job.engine);
    if !job.cpus.is_empty() {
        let cpus = if job.cpus.len() > 1 { "CPUs" } else { "CPU" };
        text += &format!(" on {cpus} {}", cpu_ranges(&job.cpus));
    }
    text += when(job.spin, " without sleeping");
    let cap = count(job.in_flight_cap.into());
    let limit = duration(job.max_lateness.0 as f64);
    text += &format!(", each with at most {cap} in flight");
    if is_timed(job) {
        text += &format!("; invalid when its own lateness p99 is above {limit}");
    }
    text
}

fn mapping(job: &ReplayJob) -> String {
    let (offsets, writes, discards) = (&job.offsets, job.writes, job.discards);
    let mut text = format!("offsets {offsets}, writes {writes}, discards {discards}");
    if job.writes == Writes::Allow {
        text += &match job.compressible_pct {
            0 => ", data random".to_owned(),
            percent => format!(", data compress={percent}%"),
        };
    }
    text + &format!("; on an error {}", job.on_error)
}

const NOT_CAPTURED_FIELD: &str = "- (run with --capture)";

/// A length of time in seconds with a fitting unit, never in minutes, because compared times need
/// one form.
fn length(s: f64) -> String {
    interval(&Interval::from_samples(&[s])).text
}

/// The median with its unit, with `[min, max]` in a second line.
pub(crate) fn interval(interval: &Interval) -> ReportField {
    if interval.trials == 0 {
        return DASH.into();
    }
    let (scale, unit) = match interval.median.abs() {
        s if s < 1e-6 => (1e9, "ns"),
        s if s < 1e-3 => (1e6, "us"),
        s if s < 1.0 => (1e3, "ms"),
        _ => (1.0, "s"),
    };
    let text = format!("{} {unit}", number(interval.median * scale));
    ReportField::stacked(text, range(interval, scale))
}

/// Completion time and sums of latencies: those of the shown trial, and medians over the valid
/// trials.
pub(super) fn sums(result: &ReplayResult) -> ReportTable {
    let valid: Vec<&ReplayTrial> = result.trials.iter().filter(|t| t.valid).collect();
    let several = result.trials.len() > 1;
    let row = |name: &str, get: fn(&ReplayTrial) -> Option<f64>| {
        let values: Vec<f64> = valid.iter().filter_map(|t| get(t)).collect();
        let medians =
            (several && !values.is_empty()).then(|| interval(&Interval::from_samples(&values)));
        let shown = get(&result.trial).map_or_else(|| NOT_CAPTURED_FIELD.to_owned(), length);
        row![name, shown, medians.unwrap_or_default()]
    };
    let mut rows = vec![
        row("completion time", |t| Some(t.completion_s)),
        row("sum of U2C", |t| Some(t.sum_u2c_s)),
    ];
    if has_intended_times(&result.job, &result.trial) {
        let name = "sum of U2C from the intended time";
        rows.push(row(name, |t| Some(t.sum_u2c_intended_s)));
    }
    rows.push(row("sum of Q2C", |t| t.sum_q2c_s));
    let trials = format!("median of\n{} valid", valid.len());
    let shown = if several { "shown trial" } else { "time" };
    const SHOWN_LEGEND: &str = "Shown: the trial with the median sum of U2C. Medians with [min, max] over the valid trials.";
    ReportTable::from_rows(["", shown, &trials], rows)
        .legend(when(several, SHOWN_LEGEND))
        .without_empty_columns()
}

/// True if columns for lateness and for U2C from the intended time are useful: they differ from
/// zero and from plain U2C.
fn has_intended_times(job: &ReplayJob, trial: &ReplayTrial) -> bool {
    is_timed(job) || trial.sum_u2c_intended_s != trial.sum_u2c_s || trial.lateness_ns.max > 0.0
}

pub(super) fn latencies(job: &ReplayJob, trial: &ReplayTrial) -> ReportTable {
    const NAMES: [&str; 7] = ["I/Os", "mean", "p50", "p90", "p99", "p99.9", "max"];
    let with_intended = has_intended_times(job, trial);
    let u2c = spread_fields(Some(&trial.u2c_ns));
    let mut columns = vec![("", NAMES.map(str::to_owned)), ("U2C", u2c)];
    if with_intended {
        let from_intended = spread_fields(Some(&trial.u2c_intended_ns));
        columns.push((
            "from
intended",
            from_intended,
        ));
    }
    columns.push(("Q2C", spread_fields(trial.q2c_ns.as_ref())));
    if with_intended {
        columns.push(("lateness", lateness_fields(&trial.lateness_ns)));
        columns.push(("own\nlateness", lateness_fields(&trial.own_lateness_ns)));
    }
    let row = |at: usize| columns.iter().map(move |(_, column)| &*column[at]);
    let rows = (0..NAMES.len()).map(row);
    ReportTable::from_rows(columns.iter().map(|(name, _)| *name), rows)
        .legend(if with_intended { INTENDED } else { PLAIN })
        .without_empty_columns()
}

const PLAIN: &str =
    "U2C: from just before the submission to the reaping. Q2C: the same in the block layer.";
const INTENDED: &str = "U2C: from just before the submission to the reaping; from intended: from the time that the trace asks for. Q2C: in the \
     block layer. Lateness: submission behind the intended time; own: of requests that nothing but the replayer held up.";

fn spread_fields(spread: Option<&Spread>) -> [String; 7] {
    let Some(spread) = spread.filter(|spread| spread.ios > 0) else {
        return Default::default();
    };
    let [mean, p50, p90] = [spread.mean, spread.p50, spread.p90].map(duration);
    let [p99, p999, max] = [spread.p99, spread.p999, spread.max].map(duration);
    [count(spread.ios), mean, p50, p90, p99, p999, max]
}

fn lateness_fields(lateness: &Lateness) -> [String; 7] {
    let [p50, p99, p999, max] =
        [lateness.p50, lateness.p99, lateness.p999, lateness.max].map(duration);
    let empty = String::new;
    [empty(), empty(), p50, empty(), p99, p999, max]
}

pub(super) fn trials(result: &ReplayResult) -> Option<ReportTable> {
    const HEADS: &str =
        "trial | completion | sum of\nU2C | sum of\nQ2C | own\nlateness\np99 | saturated | valid";
    let has_lateness = has_intended_times(&result.job, &result.trial);
    let shown = (result.trial.sum_u2c_s, result.trial.completion_s);
    let row = |(at, trial): (usize, &ReplayTrial)| {
        let is_shown = shown == (trial.sum_u2c_s, trial.completion_s);
        let own_lateness = has_lateness.then(|| duration(trial.own_lateness_ns.p99));
        row![
            format!("{}{}", at + 1, when(is_shown, " (shown)")),
            length(trial.completion_s),
            length(trial.sum_u2c_s),
            trial.sum_q2c_s.map(length).unwrap_or_default(),
            own_lateness.unwrap_or_default(),
            yes_or_no(trial.saturated),
            yes_or_no(trial.valid),
        ]
    };
    let table = ReportTable::new(HEADS, result.trials.iter().enumerate().map(row));
    (result.trials.len() > 1).then(|| table.without_empty_columns())
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::replay::Count;

    #[test]
    fn a_replay_of_one_process_says_so() {
        let trace = TraceFacts::default();
        let mut replay_job = ReplayJob::default();
        assert!(!job(&replay_job, &trace)[0].text.contains("process"));
        replay_job.process = Some("fio".to_owned());
        let sentence = &job(&replay_job, &trace)[0].text;
        assert!(
            sentence.ends_with("; only requests of process fio"),
            "{sentence}"
        );
    }

    #[test]
    fn only_squeezed_idle_time_is_lost() {
        let trace = TraceFacts {
            idle_share: Some(0.431),
            ..TraceFacts::default()
        };
        let job = |mode| ReplayJob {
            mode,
            ..ReplayJob::default()
        };
        let outstanding = |idle| {
            let count = Count::Requests;
            job(Mode::Outstanding { count, idle })
        };
        let caution = idle_caution(&outstanding(Idle::Squeeze), &trace);
        assert!(caution.is_some_and(|c| c.contains("43.1 % of this trace's. Completion time")));
        let keeps = [outstanding(Idle::Keep), job(Mode::default())];
        assert!(keeps.iter().all(|j| idle_caution(j, &trace).is_none()));
        let busy = TraceFacts::default();
        assert_eq!(idle_caution(&outstanding(Idle::Squeeze), &busy), None);
    }

    #[test]
    fn what_is_compared_keeps_its_unit() {
        let spread_of = |values: &[f64]| interval(&Interval::from_samples(values));
        let longer = ReportField::stacked("725 s", "[724, 7384]");
        assert_eq!(spread_of(&[724.0, 725.4, 7384.0]), longer);
        assert_eq!(
            spread_of(&[0.302, 0.299, 1.5]),
            ReportField::stacked("302 ms", "[299, 1500]")
        );
        assert_eq!(spread_of(&[]), ReportField::from("-"));
        assert_eq!(length(12.34e-6), "12.3 us");
    }
}
