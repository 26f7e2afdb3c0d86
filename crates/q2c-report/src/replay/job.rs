//! The replayed trace and the settings of the replay, in words.

use crate::analysis::{latency_name, time};
use crate::label::ranges;
use crate::phrase::{some_listed, when};
use crate::quantity::{count, percent, size};
use crate::said::Note;
use q2c_model::Bytes;
use q2c_model::replay::{Idle, Mode, Writes};
use q2c_result::replay::{ReplayJob, TraceFacts};

/// True if requests were submitted at their recorded times.
pub(crate) fn timed(job: &ReplayJob) -> bool {
    matches!(job.mode, Mode::Timed { .. })
}

/// The trace in short: `24 780 requests in 60.0 s`.
pub(crate) fn trace(trace: &TraceFacts) -> String {
    let requests = count(trace.requests);
    format!("{requests} requests in {}", time(trace.length_s * 1e9))
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
pub(super) fn left_out(job: &ReplayJob, trace: &TraceFacts) -> Option<f64> {
    let squeezed = matches!(job.mode, Mode::Outstanding { idle, .. } if idle == Idle::Squeeze);
    trace.idle_share.filter(|share| squeezed && *share > 0.0)
}

/// What a mode keeps that leaves out the idle time of a trace, and which option keeps the rest;
/// `None` if the idle time is kept or there is none.
pub(crate) fn without_idle_time(job: &ReplayJob, trace: &TraceFacts) -> Option<String> {
    let share = percent(left_out(job, trace)?);
    Some(format!(
        "keeps the number in flight and leaves out the time with nothing in flight, {share} of this \
         trace's. Completion time and IOPS are of the workload without its pauses. --idle keep \
         has the pauses, --mode timed has the recorded times"
    ))
}

pub(crate) fn job(job: &ReplayJob, trace: &TraceFacts) -> Vec<Note> {
    let mut facts = trace_facts(trace);
    if let Some(name) = &job.process {
        facts += &format!("; only requests of process {name}");
    }
    let settings = [("submitted", submitted(job)), ("mapped", mapped(job))];
    let mut said = vec![Note::plain("trace", facts)];
    said.extend(settings.map(|(what, words)| Note::plain(what, words)));
    said.extend(Note::plains("preconditioned", &job.precondition));
    said
}

fn trace_facts(trace: &TraceFacts) -> String {
    let ops = trace.ops.iter();
    let ops = some_listed(ops.map(|(op, n)| format!("{} {op}", count(*n))));
    let [data, largest, span] = [Bytes(trace.bytes), trace.largest, trace.span].map(size);
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
    text += &load(trace);
    if trace.back_in_time > 0 {
        let back = count(trace.back_in_time);
        text += &format!("; {back} requests lie before the one in front of them");
    }
    text
}

fn load(trace: &TraceFacts) -> String {
    let idle = trace.idle_share;
    let idle = idle.map(|share| format!("; idle {} of its time", percent(share)));
    let of_kind = |layer| format!("{} adds", latency_name(layer));
    let latencies = trace.layer.map_or("latencies add".to_owned(), of_kind);
    let sum = trace.sum_latency_s;
    let sum = sum.map(|s| format!("; recorded {latencies} up to {}", time(s * 1e9)));
    idle.into_iter().chain(sum).collect()
}

fn submitted(job: &ReplayJob) -> String {
    let threads = match job.submitters {
        1 => "1 thread".to_owned(),
        n => format!("{n} threads by {}", job.by),
    };
    let mut text = format!("by {}, {threads} for each target", job.engine);
    if !job.cpus.is_empty() {
        let cpus = if job.cpus.len() > 1 { "CPUs" } else { "CPU" };
        text += &format!(" on {cpus} {}", ranges(&job.cpus));
    }
    text += when(job.spin, " without sleeping");
    let cap = count(job.in_flight_cap.into());
    let limit = time(job.max_lateness.0 as f64);
    text += &format!(", each with at most {cap} in flight");
    if timed(job) {
        text += &format!("; invalid when its own lateness p99 is above {limit}");
    }
    text
}

fn mapped(job: &ReplayJob) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::replay::Count;

    #[test]
    fn a_replay_of_one_process_says_so() {
        let trace = TraceFacts::default();
        let mut replay_job = ReplayJob::default();
        assert!(!job(&replay_job, &trace)[0].words.contains("process"));
        replay_job.process = Some("fio".to_owned());
        let sentence = &job(&replay_job, &trace)[0].words;
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
        let caution = without_idle_time(&outstanding(Idle::Squeeze), &trace);
        assert!(caution.is_some_and(|c| c.contains("43.1 % of this trace's. Completion time")));
        let keeps = [outstanding(Idle::Keep), job(Mode::default())];
        assert!(keeps.iter().all(|j| without_idle_time(j, &trace).is_none()));
        let busy = TraceFacts::default();
        assert_eq!(without_idle_time(&outstanding(Idle::Squeeze), &busy), None);
    }
}
