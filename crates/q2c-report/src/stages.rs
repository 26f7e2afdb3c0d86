//! The stages of a benchmark's points in the block layer: the table, and sentences on the
//! bottleneck over the jobs, on the hardware queues, and on what the capture lacks.

use crate::analysis::{self, ORDER, time};
use crate::bench::{Section, name};
use crate::late;
use crate::quantity::{count, number};
use q2c_result::analyze::{Bottleneck, StageStats};
use q2c_result::bench::{
    BenchCell, BenchResult, PointStages, QueueTagWaits, StageGrowth, StageRun, TagWaits,
};
use q2c_result::replay::CapturedBy;

/// Heads of the table of stages.
pub(crate) const HEAD: [&str; 7] = [
    "interface, method",
    "jobs",
    "stage",
    "mean",
    "p50",
    "p99",
    "of Q2C",
];

/// Explains the table and where its figures come from.
pub(crate) const LEGEND: &str = "Stages in the block layer, from a run of each point with the capture \
     beside it, after all trials: its speed is not that of the trials. Of Q2C: the stage's share \
     in the sum of Q2C.";

/// Captured I/Os may differ from those of the jobs by this share without a word: I/Os that are in
/// flight at the edges of the time that counts.
const EDGES: f64 = 0.01;

/// A point with its stages.
pub(crate) type Seen<'a> = (&'a BenchCell, &'a StageRun);

/// The points of a section whose stages are known.
pub(crate) fn seen<'a>(result: &'a BenchResult, section: &Section) -> Vec<Seen<'a>> {
    let own = result.cells.iter().filter(|c| section.holds(&c.point));
    let with = own.filter_map(|cell| match &cell.stages {
        Some(PointStages::Seen(run)) => Some((cell, &**run)),
        _ => None,
    });
    with.collect()
}

/// The points of a section by interface and method, in the order in which they were measured.
pub(crate) fn lines<'a>(seen: &[Seen<'a>]) -> Vec<(String, Vec<Seen<'a>>)> {
    let mut lines: Vec<(String, Vec<Seen<'a>>)> = Vec::new();
    for point in seen {
        let own = name(&point.0.point);
        match lines.iter_mut().find(|(line, _)| *line == own) {
            Some((_, points)) => points.push(*point),
            None => lines.push((own, vec![*point])),
        }
    }
    lines
}

/// The rows of the table: one for each stage of each point. The point's name stands in its first
/// row alone.
pub(crate) fn rows(seen: &[Seen<'_>]) -> Vec<[String; 7]> {
    seen.iter().flat_map(of_point).collect()
}

fn of_point((cell, run): &Seen<'_>) -> Vec<[String; 7]> {
    // The time between two I/Os of a device is no stage of an I/O.
    let stages = ORDER.iter().filter(|stage| **stage != "Q2Q");
    let stages = stages.filter_map(|stage| Some((*stage, run.stages.get(*stage)?)));
    let row = |(n, (stage, of)): (usize, (&str, &StageStats))| {
        let first = |text: String| if n == 0 { text } else { String::new() };
        let shares = run.bottleneck.as_ref().map(|found| &found.shares);
        let share = shares.and_then(|shares| shares.get(stage));
        [
            first(name(&cell.point)),
            first(cell.point.jobs.to_string()),
            stage.to_owned(),
            time(of.mean_ns),
            time(of.p50_ns),
            time(of.p99_ns),
            share.map_or_else(String::new, |share| percent(*share)),
        ]
    };
    stages.enumerate().map(row).collect()
}

fn percent(share: f64) -> String {
    format!("{} %", number(share * 100.0))
}

/// Sentences on the stages of a section, with a heading each.
pub(crate) fn told(result: &BenchResult, section: &Section) -> Vec<(String, String)> {
    let seen = seen(result, section);
    let mut told: Vec<(String, String)> = Vec::new();
    for (line, points) in lines(&seen) {
        told.extend(bottleneck(&line, &points));
        told.extend(growth(&line, &points));
        told.extend(points.iter().flat_map(|point| queues(&line, point)));
        told.extend(tag_waits(&line, &points));
        told.extend(speed(&line, &points));
        told.extend(points.iter().filter_map(|point| lacks(&line, point)));
    }
    told.extend(unseen(result, section));
    told
}

/// The bottleneck over the number of jobs: the stages that take its place, in the order of the
/// jobs.
fn bottleneck(line: &str, points: &[Seen<'_>]) -> Option<(String, String)> {
    let mut found: Vec<(u32, &Bottleneck)> = points
        .iter()
        .filter_map(|(cell, run)| Some((cell.point.jobs, run.bottleneck.as_ref()?)))
        .collect();
    found.sort_by_key(|(jobs, _)| *jobs);
    let groups: Vec<&[(u32, &Bottleneck)]> =
        found.chunk_by(|a, b| a.1.stage == b.1.stage).collect();
    let (first, _) = found.first()?;
    let mut words: Vec<String> = groups.iter().map(|group| of_group(group)).collect();
    let mut named: Vec<&str> = Vec::new();
    for (_, stage) in groups.iter().filter_map(|group| group.last()) {
        if !named.contains(&stage.stage.as_str()) {
            named.push(&stage.stage);
            words.push(format!("{}: {}", stage.stage, stage.why));
        }
    }
    let over = match found.len() {
        1 => format!(" at {}", jobs(*first)),
        _ => " over the jobs".to_owned(),
    };
    Some((format!("bottleneck of {line}{over}"), words.join(". ")))
}

/// The stage that grows with the number of jobs.
fn growth(line: &str, points: &[Seen<'_>]) -> Option<(String, String)> {
    let runs: Vec<(u32, &StageRun)> = points
        .iter()
        .map(|(cell, run)| (cell.point.jobs, *run))
        .collect();
    let of = StageGrowth::over(&runs)?;
    let range = format!(
        "Q2C is {} at {} and {} at {}",
        time(of.q2c_from_ns),
        jobs(of.from),
        time(of.q2c_to_ns),
        jobs(of.to)
    );
    let words = match of.most {
        Some((stage, share)) => format!("{range}. {stage} takes {} of the growth", percent(share)),
        None => format!("{range}: no stage grows"),
    };
    Some((format!("growth of {line} over the jobs"), words))
}

/// Sleeps for a request, per I/O, over the number of jobs.
fn tag_waits(line: &str, points: &[Seen<'_>]) -> Option<(String, String)> {
    let mut counted: Vec<String> = Vec::new();
    for (cell, run) in points {
        let words = match run.tag_waits.as_ref()? {
            TagWaits::Unseen(why) => {
                let what = format!("sleeps of {line} for a request");
                return Some((what, format!("not known: {}", late::unseen(why))));
            }
            TagWaits::Counted { queues, lost } => tag_waits_of(run, queues, *lost),
        };
        counted.push(format!("{words} at {}", jobs(cell.point.jobs)));
    }
    let none = points.iter().all(|(_, run)| {
        let sum = run.tag_waits.as_ref().and_then(TagWaits::sum);
        sum.is_some_and(|(sleeps, _)| sleeps == 0)
    });
    let words = match none {
        true => "none: a free one was always there".to_owned(),
        false => counted.join("; "),
    };
    Some((format!("sleeps of {line} for a request (tag)"), words))
}

/// The sleeps for a request at one number of jobs.
fn tag_waits_of(run: &StageRun, queues: &[QueueTagWaits], lost: u64) -> String {
    let sleeps: u64 = queues.iter().map(|queue| queue.sleeps).sum();
    if sleeps == 0 {
        return "none".to_owned();
    }
    let ns: u64 = queues.iter().map(|queue| queue.ns).sum();
    let of = match queues.iter().all(|queue| queue.of_scheduler) {
        true => " of the I/O scheduler",
        false => "",
    };
    let lost = match lost {
        0 => String::new(),
        lost => format!(", {} more had no room in the probe", count(lost)),
    };
    format!(
        "{} per I/O, {} each, in {} hardware queue{}{of}{lost}",
        number(sleeps as f64 / run.captured as f64),
        time(ns as f64 / sleeps as f64),
        queues.len(),
        if queues.len() == 1 { "" } else { "s" },
    )
}

/// The numbers of jobs at which one stage is the bottleneck, and its share there.
fn of_group(group: &[(u32, &Bottleneck)]) -> String {
    let at: Vec<String> = group.iter().map(|(jobs, _)| jobs.to_string()).collect();
    let shares: Vec<String> = group
        .iter()
        .map(|(_, of)| number(of.share * 100.0))
        .collect();
    let (stage, at, shares) = (&group[0].1.stage, at.join(", "), shares.join(", "));
    let word = if at == "1" { "job" } else { "jobs" };
    format!("{stage} at {at} {word} ({shares} % of Q2C)")
}

fn jobs(jobs: u32) -> String {
    match jobs {
        1 => "1 job".to_owned(),
        n => format!("{n} jobs"),
    }
}

/// The use of the hardware queues at one number of jobs.
fn queues(line: &str, (cell, run): &Seen<'_>) -> Vec<(String, String)> {
    let at = |what: &str| format!("{line}, {}: {what}", jobs(cell.point.jobs));
    if run.queues.is_empty() {
        let why = match run.captured_by {
            CapturedBy::Tracefs => "not known: tracefs does not tell them",
            CapturedBy::Bpf => "not known: no request names one, as on a disk that takes bios",
        };
        return vec![(at("hardware queues"), why.to_owned())];
    }
    let told = analysis::device_queues(&run.queues);
    told.map(|(what, words)| (at(&what), words)).collect()
}

/// How fast the points were with the capture beside them, against their trials.
fn speed(line: &str, points: &[Seen<'_>]) -> Option<(String, String)> {
    let share = |(cell, run): &Seen<'_>| {
        let share = run.ios as f64 / run.seconds / cell.iops.median;
        share.is_finite().then_some(share)
    };
    let shares: Vec<f64> = points.iter().filter_map(share).collect();
    let least = shares.iter().copied().reduce(f64::min)?;
    let most = shares.iter().copied().reduce(f64::max)?;
    let reader = points.iter().map(|(_, run)| run.reader_cpu_pct);
    let reader = reader.fold(0.0, f64::max);
    let by = points.first()?.1.captured_by.name();
    let range = match (percent(least), percent(most)) {
        (least, most) if least == most => most,
        (least, most) => format!("{least} to {most}"),
    };
    let words = format!(
        "{range} of the trials' IOPS, captured by {by}. The thread that reads took up to {} % of a \
         CPU",
        number(reader)
    );
    Some((format!("{line} with the capture beside it"), words))
}

/// What is not in the stages of a point; `None` when they have everything.
fn lacks(line: &str, (cell, run): &Seen<'_>) -> Option<(String, String)> {
    let apart = (run.captured as f64 / run.ios as f64 - 1.0).abs();
    let differs = apart.is_nan() || apart > EDGES;
    let some = |n: u64, words: &str| (n > 0).then(|| format!("{} {words}", count(n)));
    let (captured, ios) = (count(run.captured), count(run.ios));
    let all = [
        differs.then(|| format!("the block layer had {captured} I/Os where the jobs had {ios}")),
        some(
            run.captured.saturating_sub(run.completed),
            "did not complete",
        ),
        some(
            partial(run),
            "lack an event, so that some of their stages are not known",
        ),
        some(run.lost, "were lost"),
        some(run.not_kept, "had no room in memory"),
        analysis::unmatched(&run.unmatched).map(|reasons| format!("unmatched: {reasons}")),
        some(run.others, "of others on the disk are left out"),
    ];
    let words: Vec<String> = all.into_iter().flatten().collect();
    let at = format!("I/Os of {line}, {}", jobs(cell.point.jobs));
    (!words.is_empty()).then(|| (at, words.join("; ")))
}

/// Completed I/Os that lack an event before the completion: that of the queueing, of the hand-over,
/// or of the request's allocation or the merge.
fn partial(run: &StageRun) -> u64 {
    let n = |stage: &str| run.stages.get(stage).map_or(0, |of| of.n);
    let whole = [n("Q2C"), n("D2C"), n("Q2G") + n("Q2M")];
    let least = whole.into_iter().min().unwrap_or(0);
    run.completed.saturating_sub(least)
}

/// The points of a section whose stages are not known, by reason.
fn unseen(result: &BenchResult, section: &Section) -> Vec<(String, String)> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    let own = result.cells.iter().filter(|c| section.holds(&c.point));
    for cell in own {
        let Some(PointStages::Unseen(why)) = &cell.stages else {
            continue;
        };
        let (why, at) = (late::unseen(why), name(&cell.point));
        match reasons.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, names)) if names.contains(&at) => {}
            Some((_, names)) => names.push(at),
            None => reasons.push((why, vec![at])),
        }
    }
    let told =
        |(why, names): (String, Vec<String>)| (format!("stages of {}", names.join(", ")), why);
    reasons.into_iter().map(told).collect()
}
