//! The block-layer stages of a benchmark's points: their table, and sentences on the bottleneck
//! over the jobs, on the hardware queues, and on what a capture lacks.

use crate::analysis::{self, STAGE_ORDER};
use crate::bench::{BenchSection, name};
use crate::late_time;
use crate::note::{Note, ReportTable};
use crate::phrase::{counted, distinct, grouped, jobs, joined, listed, when};
use crate::quantity::{count, duration, number, percent};
use q2c_result::analyze::{Bottleneck, StageStats};
use q2c_result::bench::{
    BenchCell, BenchResult, PointStages, QueueTagWaits, StageGrowth, StageRun, TagWaits,
};
use q2c_result::replay::CapturedBy;

/// The share by which captured I/Os may differ from those of the jobs before a note says so. I/Os
/// in flight at the start or the end of the counted time make such a difference.
const MAX_EDGE_SHARE: f64 = 0.01;

pub(crate) type CellStages<'a> = (&'a BenchCell, &'a StageRun);

pub(crate) fn runs<'a>(result: &'a BenchResult, section: &BenchSection) -> Vec<CellStages<'a>> {
    let cells = section.cells(result);
    cells.filter_map(|c| Some((c, c.stage_run()?))).collect()
}

/// The points of a section by interface and method, in the order in which they were measured.
pub(crate) fn lines<'a>(points: &[CellStages<'a>]) -> Vec<(String, Vec<CellStages<'a>>)> {
    grouped(points.iter().map(|&(c, run)| (name(&c.point), (c, run))))
}

/// A row for each stage of each point. Only a point's first row has its name.
pub(crate) fn table(points: &[CellStages<'_>]) -> ReportTable {
    let heads = "interface, method | jobs | stage | mean | p50 | p99 | of Q2C";
    let legend = "Stages in the block layer, from a run of each point with the capture \
         beside it, after all trials: its speed is not that of the trials. Of Q2C: the stage's share \
         in the sum of Q2C.";
    ReportTable::new(heads, points.iter().flat_map(point_rows)).legend(legend)
}

fn point_rows((cell, run): &CellStages<'_>) -> Vec<[String; 7]> {
    let shares = run.bottleneck.as_ref().map(|bottleneck| &bottleneck.shares);
    // Q2Q, the time between two I/Os, is not a stage of one I/O.
    let stages = STAGE_ORDER.into_iter().filter(|stage| *stage != "Q2Q");
    let present = stages.filter_map(|stage| Some((stage, run.stages.get(stage)?)));
    let row = |(nth, (stage, stats)): (usize, (&str, &StageStats))| {
        let share = shares.and_then(|shares| shares.get(stage));
        [
            when(nth == 0, &name(&cell.point)).to_owned(),
            when(nth == 0, &cell.point.jobs.to_string()).to_owned(),
            stage.to_owned(),
            duration(stats.mean_ns),
            duration(stats.p50_ns),
            duration(stats.p99_ns),
            share.map(|share| percent(*share)).unwrap_or_default(),
        ]
    };
    present.enumerate().map(row).collect()
}

pub(crate) fn stage_notes(result: &BenchResult, section: &BenchSection) -> Vec<Note> {
    let mut notes = Vec::new();
    for (line, points) in lines(&runs(result, section)) {
        notes.extend(bottleneck_note(&line, &points));
        notes.extend(growth_note(&line, &points));
        notes.extend(points.iter().flat_map(|point| queue_notes(&line, point)));
        notes.extend(tag_wait_note(&line, &points));
        notes.extend(speed_note(&line, &points));
        notes.extend(points.iter().filter_map(|point| loss_note(&line, point)));
    }
    notes.extend(unknown_stage_notes(result, section));
    notes
}

/// The bottleneck over the number of jobs: a clause for each stage that is the bottleneck, in the
/// order of the jobs.
fn bottleneck_note(line: &str, points: &[CellStages<'_>]) -> Option<Note> {
    let points = points.iter();
    let by_jobs =
        points.filter_map(|(cell, run)| Some((cell.point.jobs, run.bottleneck.as_ref()?)));
    let mut by_jobs: Vec<(u32, &Bottleneck)> = by_jobs.collect();
    by_jobs.sort_by_key(|(jobs, _)| *jobs);
    let (first, _) = by_jobs.first()?;
    let scope = match by_jobs.len() {
        1 => format!(" at {}", jobs(*first)),
        _ => " over the jobs".to_owned(),
    };
    let groups: Vec<&[(u32, &Bottleneck)]> =
        by_jobs.chunk_by(|a, b| a.1.stage == b.1.stage).collect();
    let mut sentences: Vec<String> = groups.iter().map(|group| group_text(group)).collect();
    // Each stage is explained once, by the last point of the first group that has it.
    let explained = grouped(groups.iter().filter_map(|group| {
        let (_, last) = group.last()?;
        Some((last.stage.as_str(), last.why.as_str()))
    }));
    let explained = explained.iter();
    sentences.extend(explained.map(|(stage, reasons)| format!("{stage}: {}", reasons[0])));
    let heading = format!("bottleneck of {line}{scope}");
    Some(Note::plain(&heading, joined(sentences, ". ")))
}

fn growth_note(line: &str, points: &[CellStages<'_>]) -> Option<Note> {
    let by_jobs = points.iter().map(|(cell, run)| (cell.point.jobs, *run));
    let growth = StageGrowth::from_points(&by_jobs.collect::<Vec<_>>())?;
    let [first, last] = [growth.q2c_from_ns, growth.q2c_to_ns].map(duration);
    let [from, to] = [growth.from, growth.to].map(jobs);
    let most = match growth.most {
        Some((stage, share)) => format!(". {stage} takes {} of the growth", percent(share)),
        None => ": no stage grows".to_owned(),
    };
    let message = format!("Q2C is {first} at {from} and {last} at {to}{most}");
    let heading = format!("growth of {line} over the jobs");
    Some(Note::plain(&heading, message))
}

/// Sleeps of tasks that wait for a free request, per I/O, over the number of jobs.
fn tag_wait_note(line: &str, points: &[CellStages<'_>]) -> Option<Note> {
    let mut by_jobs: Vec<String> = Vec::new();
    for (cell, run) in points {
        let waits = match run.tag_waits.as_ref()? {
            TagWaits::Unseen(reason) => {
                let what = format!("sleeps of {line} for a request");
                let unknown = format!("not known: {}", late_time::absence(reason));
                return Some(Note::plain(&what, unknown));
            }
            TagWaits::Counted { queues, lost } => tag_wait_text(run, queues, *lost),
        };
        by_jobs.push(format!("{waits} at {}", jobs(cell.point.jobs)));
    }
    let never_slept = points.iter().all(|(_, run)| {
        let sum = run.tag_waits.as_ref().and_then(TagWaits::sum);
        sum.is_some_and(|(sleeps, _)| sleeps == 0)
    });
    const NONE: &str = "none: a free one was always there";
    let waits = Some(joined(by_jobs, "; ")).filter(|_| !never_slept);
    let what = format!("sleeps of {line} for a request (tag)");
    Some(Note::plain(&what, waits.unwrap_or_else(|| NONE.to_owned())))
}

fn tag_wait_text(run: &StageRun, queues: &[QueueTagWaits], lost: u64) -> String {
    let sleeps: u64 = queues.iter().map(|queue| queue.sleeps).sum();
    if sleeps == 0 {
        return "none".to_owned();
    }
    let ns: u64 = queues.iter().map(|queue| queue.ns).sum();
    let of_scheduler = queues.iter().all(|queue| queue.of_scheduler);
    let lost = (lost > 0).then(|| format!(", {} more had no room in the probe", count(lost)));
    format!(
        "{} per I/O, {} each, in {}{}{}",
        number(sleeps as f64 / run.captured as f64),
        duration(ns as f64 / sleeps as f64),
        counted(queues.len(), "hardware queue"),
        when(of_scheduler, " of the I/O scheduler"),
        lost.unwrap_or_default()
    )
}

/// The numbers of jobs at which one stage is the bottleneck, and its share of Q2C there.
fn group_text(group: &[(u32, &Bottleneck)]) -> String {
    let at = listed(group.iter().map(|(jobs, _)| jobs));
    let shares = listed(group.iter().map(|(_, it)| number(it.share * 100.0)));
    let (stage, s) = (&group[0].1.stage, when(at != "1", "s"));
    format!("{stage} at {at} job{s} ({shares} % of Q2C)")
}

fn queue_notes(line: &str, (cell, run): &CellStages<'_>) -> Vec<Note> {
    let at = |what: &str| format!("{line}, {}: {what}", jobs(cell.point.jobs));
    if run.queues.is_empty() {
        let reason = match run.captured_by {
            CapturedBy::Tracefs => "not known: tracefs does not tell them",
            CapturedBy::Bpf | CapturedBy::Simulated => {
                "not known: no request names one, as on a disk that takes bios"
            }
        };
        return vec![Note::plain(&at("hardware queues"), reason)];
    }
    let queues = analysis::device_queues(&run.queues);
    let notes = queues.map(|note| Note::plain(&at(&note.heading), note.text));
    notes.collect()
}

fn speed_note(line: &str, points: &[CellStages<'_>]) -> Option<Note> {
    let share = |(cell, run): &CellStages<'_>| run.ios as f64 / run.seconds / cell.iops.median;
    let shares = || points.iter().map(share).filter(|share| share.is_finite());
    let least = percent(shares().reduce(f64::min)?);
    let most = percent(shares().reduce(f64::max)?);
    let span = format!("{least} to {most}");
    let range = if least == most { most } else { span };
    let reader = points.iter().map(|(_, run)| run.reader_cpu_pct);
    let reader = number(reader.fold(0.0, f64::max));
    let capture = points.first()?.1.captured_by;
    if capture == CapturedBy::Simulated {
        return None;
    }
    let heading = format!("{line} with the capture beside it");
    let captured = format!("{range} of the trials' IOPS, captured by {capture}");
    let reads = format!("The thread that reads took up to {reader} % of a CPU");
    Some(Note::plain(&heading, format!("{captured}. {reads}")))
}

fn loss_note(line: &str, (cell, run): &CellStages<'_>) -> Option<Note> {
    let difference = (run.captured as f64 / run.ios as f64 - 1.0).abs();
    let differs = difference.is_nan() || difference > MAX_EDGE_SHARE;
    let clause = |n: u64, words: &str| (n > 0).then(|| format!("{} {words}", count(n)));
    let (captured, ios) = (count(run.captured), count(run.ios));
    let incomplete = run.captured.saturating_sub(run.completed);
    const PARTIAL: &str = "lack an event, so that some of their stages are not known";
    let clauses = [
        differs.then(|| format!("the block layer had {captured} I/Os where the jobs had {ios}")),
        clause(incomplete, "did not complete"),
        clause(partial_ios(run), PARTIAL),
        clause(run.lost, "were lost"),
        clause(run.not_kept, "had no room in memory"),
        analysis::reason_counts(&run.unmatched).map(|reasons| format!("unmatched: {reasons}")),
        clause(run.others, "of others on the disk are left out"),
    ];
    let sentence = joined(clauses.into_iter().flatten(), "; ");
    let heading = format!("I/Os of {line}, {}", jobs(cell.point.jobs));
    (!sentence.is_empty()).then(|| Note::plain(&heading, sentence))
}

/// The number of completed I/Os that lack an earlier event: the queueing, the hand-over to the
/// driver, or the request's allocation or merge.
fn partial_ios(run: &StageRun) -> u64 {
    let n = |stage: &str| run.stages.get(stage).map_or(0, |stats| stats.n);
    let least = n("Q2C").min(n("D2C")).min(n("Q2G") + n("Q2M"));
    run.completed.saturating_sub(least)
}

/// Notes on a section's points whose stages are not known, grouped by reason.
fn unknown_stage_notes(result: &BenchResult, section: &BenchSection) -> impl Iterator<Item = Note> {
    let reasons = grouped(section.cells(result).filter_map(|cell| match &cell.stages {
        Some(PointStages::Unseen(reason)) => Some((late_time::absence(reason), name(&cell.point))),
        _ => None,
    }));
    let reasons = reasons.into_iter();
    reasons.map(|(cause, of)| Note::plain(&format!("stages of {}", listed(distinct(of))), cause))
}
