//! The report of `q2c analyze`. It also tells which figures are missing or inexact because a trace
//! was analysed in parts, and how many I/Os were seen only in part.

use crate::document::{Document, Reported, Section};
use crate::facts::fact;
use crate::note::{Note, ReportTable, Weight};
use crate::phrase::{counted, joined, listed, listed_if_any, when};
use crate::quantity::{DASH, count, duration, number, or_dash, percent};
use crate::rates::TrafficRates;
use crate::{bottleneck, label, plots};
use q2c_model::facts::ONE_PROCESS;
use q2c_model::{Bytes, Layer};
use q2c_result::analyze::{
    AnalyzeResult, Balance, DeviceQueues, Group, Hctx, InexactFigure, InexactMark, InexactReason,
    LoadClass, MapVerdict, NoMapFit, QueueUse, Seeks, StageStats,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub(crate) const STAGE_ORDER: [&str; 11] = [
    "Q2Q", "Q2G", "G2I", "Q2M", "I2D", "G2D", "M2D", "D2C", "Q2C", "U2U", "U2C",
];

/// The largest number of devices that have sentences on their seeks and queues.
const MAX_DEVICES: usize = 4;

/// The layer's name for the whole latency of an I/O.
pub(crate) fn latency_name(layer: Layer) -> &'static str {
    match layer {
        Layer::Block => "Q2C",
        Layer::User => "U2C",
    }
}

/// The largest number of groups per property, and of CPUs per queue, in the report; JSON has all.
const MAX_LISTED: usize = 12;

impl Reported for AnalyzeResult {
    fn document(&self) -> Document<'_> {
        let failed = (self.failed > 0).then(|| format!("{} I/Os", count(self.failed)));
        let input = &self.input;
        let mut facts = vec![fact("source", &input.source), fact("clock", &input.clock)];
        facts.extend(input.facts.iter().map(|(name, value)| fact(name, value)));
        // A single group has the same figures as the whole trace, and the notes name it.
        let groups = self.groups.iter().filter(|(_, groups)| groups.len() > 1);
        let stages = Section::new("Stages").table(stage_table(&self.stages));
        Document::new("analyze", &self.version, &self.schema)
            .titled(self.input.path.clone(), about(self))
            .answers(self.bottleneck.iter().flat_map(bottleneck::notes))
            .notices(Note::cautions("processes", same_name_processes(self)))
            .notices(Note::cautions("not exact", inexact_sentences(self)))
            .notices(Note::cautions("unmatched", reason_counts(&self.unmatched)))
            .notices(failed.map(|ios| Note::bad("failed", ios)))
            .section(stages.notes(partly_seen(self)))
            .section(finding_section(self))
            .sections(groups.map(|(property, groups)| group_section(property, groups)))
            .section(queue_section(self))
            .section(Section::new("").plots(|| plots::analysis::plots(self)))
            .warnings(&self.warnings)
            .facts("The trace", facts, Vec::new())
    }
}

fn finding_section(result: &AnalyzeResult) -> Section<'static> {
    let section = Section::new("What it says").notes(finding_notes(result));
    let Some(bottleneck) = &result.bottleneck else {
        return section;
    };
    let several = bottleneck.over_load.len() > 1;
    let loads = bottleneck.over_load.iter().filter(|_| several);
    section
        .notes([Note::plain("shares of Q2C", shares(&bottleneck.shares))])
        .notes(loads.map(|class| load_note(class, result.in_flight.most)))
}

fn group_section(property: &str, groups: &[Group]) -> Section<'static> {
    let mut order: Vec<&Group> = groups.iter().collect();
    if order.len() > MAX_LISTED {
        order.sort_by_key(|group| Reverse(group.requests));
    }
    let heads = "I/Os | MiB | mean | p50 | p99 | max | D2C mean | D2C p99".split(" | ");
    let rows = order.iter().take(MAX_LISTED).map(|group| group_row(group));
    let table = ReportTable::from_rows(std::iter::once(property).chain(heads), rows);
    let section = Section::new(format!("By {property}")).table(table.without_columns_of(DASH));
    match order.len().saturating_sub(MAX_LISTED) {
        0 => section,
        n => section.remark(format!("{n} more groups are in --json.")),
    }
}

fn queue_section(result: &AnalyzeResult) -> Section<'static> {
    let Some(balance) = &result.balance else {
        return Section::default();
    };
    let row = |queue: &Hctx| {
        let cpus = queue.cpus.iter().take(MAX_LISTED);
        [
            queue.hctx.to_string(),
            count(queue.requests),
            percent(queue.share),
            listed(cpus.map(|(cpu, n)| format!("{cpu} ({n})"))),
        ]
    };
    // `number` gives `<0.01` for a very small p.
    let chance = format!("p = {}", number(balance.p)).replace("= <", "< ");
    let heads = "queue | requests | share | from CPUs";
    let (verdict, queues) = (&balance.verdict, balance.queues);
    let [cv, chi_square] = [percent(balance.cv), number(balance.chi_square)];
    let summary = format!(
        "{verdict} over {queues} hardware queues (deviation {cv}, chi-square {chi_square}, {chance})"
    );
    let weight = Weight::good_if(balance.verdict != "uneven");
    Section::new("Hardware queues")
        .table(ReportTable::new(heads, result.hctx.iter().map(row)))
        .notes([Note::new(weight, "balance", summary)])
        .notes(device_queues(&result.queues))
}

fn about(result: &AnalyzeResult) -> String {
    let process = result.input.facts.get(ONE_PROCESS);
    let process = process.map(|process| format!(" of process {process}"));
    let mut text = format!(
        "{} I/Os{} in {} · {} layer · from {}",
        count(result.requests),
        process.unwrap_or_default(),
        duration(result.span_ns as f64),
        result.layer.name(),
        result.input.source
    );
    for (fact, prefix) in [("disks", ""), ("kernel", "Linux "), ("cpu_model", "")] {
        if let Some(value) = result.input.facts.get(fact) {
            text += &format!(" · {prefix}{value}");
        }
    }
    text
}

fn stage_table(by_name: &BTreeMap<String, StageStats>) -> ReportTable {
    let row = |name: &&str| {
        let stats = by_name.get(*name)?;
        let (min, max) = (stats.min_ns as f64, stats.max_ns as f64);
        let low = [min, stats.mean_ns, stats.p50_ns, stats.p90_ns];
        let high = [stats.p99_ns, stats.p999_ns, stats.p9999_ns, max];
        let times = low.into_iter().chain(high).map(duration);
        Some([name.to_string(), count(stats.n)].into_iter().chain(times))
    };
    let heads = "stage | I/Os | min | mean | p50 | p90 | p99 | p99.9 | p99.99 | max";
    let legend = "Q queued, G request allocated, I in the scheduler, D handed to the driver, M merged, C complete. \
         Minimum, mean and maximum are exact, percentiles within 0.8 %.";
    ReportTable::new(heads, STAGE_ORDER.iter().filter_map(row)).legend(legend)
}

fn group_row(group: &Group) -> [String; 9] {
    let field = |stats: Option<&StageStats>, get: fn(&StageStats) -> f64| {
        or_dash(stats.map(|stats| duration(get(stats))))
    };
    let device = group.stages.get("D2C");
    let total = group.stages.get("Q2C").or(group.stages.get("U2C"));
    [
        group.key.clone(),
        count(group.requests),
        number(group.bytes as f64 / f64::from(1 << 20)),
        field(total, |s| s.mean_ns),
        field(total, |s| s.p50_ns),
        field(total, |s| s.p99_ns),
        field(total, |s| s.max_ns as f64),
        field(device, |s| s.mean_ns),
        field(device, |s| s.p99_ns),
    ]
}

/// The properties that are the same for all I/Os and so have no table of groups: `op read, size
/// 4 KiB`.
fn shared_properties(result: &AnalyzeResult) -> impl Iterator<Item = Note> {
    let shared = result.groups.iter();
    let shared = shared.filter_map(|(property, groups)| match &groups[..] {
        [one] if one.requests == result.requests => Some(format!("{property} {}", group_name(one))),
        _ => None,
    });
    Note::plains("of all I/Os", listed_if_any(shared))
}

/// The name of a group. A size class whose I/Os all have its upper size loses its `up to`.
fn group_name(group: &Group) -> String {
    let bound = Bytes(group.bytes / group.requests.max(1));
    if group.key == format!("up to {bound}") && bound.0 * group.requests == group.bytes {
        return bound.to_string();
    }
    group.key.clone()
}

/// The largest number of processes that a sentence names.
const MAX_PROCESSES: usize = 6;

/// Names the processes that share the name by which I/Os were selected; `None` unless several
/// do.
fn same_name_processes(result: &AnalyzeResult) -> Option<String> {
    let name = result.input.facts.get(ONE_PROCESS)?;
    let mut groups: Vec<&Group> = result.groups.get("process")?.iter().collect();
    if groups.len() < 2 {
        return None;
    }
    groups.sort_by_key(|group| Reverse(group.requests));
    let named = |group: &&Group| format!("{} with {} I/Os", group.key, count(group.requests));
    let more = groups.len().saturating_sub(MAX_PROCESSES);
    let more = (more > 0).then(|| format!("{more} more"));
    Some(format!(
        "{} have the name {name}: {}; --process NUMBER takes one alone",
        groups.len(),
        listed(groups.iter().take(MAX_PROCESSES).map(named).chain(more))
    ))
}

fn finding_notes(result: &AnalyzeResult) -> Vec<Note> {
    let mut notes: Vec<Note> = shared_properties(result).collect();
    let groups = result.groups.get("op").into_iter().flatten();
    let ops = groups.map(|group| (group.key.as_str(), group.requests, group.bytes));
    let rates = TrafficRates::from_ops(ops, result.requests, result.span_ns);
    let rates = rates.sentences(&result.input.facts).into_iter();
    notes.extend(rates.map(|(heading, sentence)| Note::plain(heading, sentence)));
    if result.completed == 0 {
        let unknown = "unknown: the trace has no completions";
        notes.push(Note::plain("latency, load", unknown));
    } else {
        notes.extend(load_notes(result));
    }
    let merged = |ratio| {
        let (ratio, merged) = (number(ratio), count(result.merged));
        format!("{ratio} I/Os for each request issued ({merged} merged)")
    };
    notes.extend(Note::plains("merging", result.merge_ratio.map(merged)));
    notes.extend(seek_notes(result));
    notes
}

fn load_notes(result: &AnalyzeResult) -> impl Iterator<Item = Note> {
    let mean = (result.in_flight.mean).map(|mean| format!("{} on average", number(mean)));
    let most = (result.in_flight.most).map(|most| format!("{} at most", count(most)));
    let in_flight = listed_if_any(mean.into_iter().chain(most));
    let unknown = || "not known without the queueing of I/Os".to_owned();
    let active = result.activity.map(|a| {
        let times = [a.active_ns, a.idle_ns, a.longest_idle_ns];
        let [active, idle, longest] = times.map(|ns| duration(ns as f64));
        let pauses = count(a.pauses);
        format!(
            "{active}, idle {idle} with {pauses} pauses of 100 ms or more, the longest {longest}"
        )
    });
    [Note::plain("in flight", in_flight.unwrap_or_else(unknown))]
        .into_iter()
        .chain(Note::plains("active", active))
}

fn seek_notes(result: &AnalyzeResult) -> impl Iterator<Item = Note> {
    let mut devices: Vec<&Seeks> = result.seeks.iter().filter(|seeks| seeks.n > 0).collect();
    devices.sort_by_key(|seeks| Reverse(seeks.n));
    let more = devices.len().saturating_sub(MAX_DEVICES);
    let note = |seeks: &Seeks| {
        let sequential = percent(seeks.sequential as f64 / seeks.n as f64);
        let [mean, median] = [seeks.mean_sectors, seeks.median_sectors].map(number);
        let message = format!("{sequential} sequential, mean {mean} sectors, median {median}");
        Note::plain(&format!("seeks on {}", seeks.device), message)
    };
    let more = (more > 0).then(|| Note::plain("and", format!("{more} more; --json has all")));
    devices.into_iter().take(MAX_DEVICES).map(note).chain(more)
}

/// Notes on each device's hardware queues, reads apart from writes.
pub(crate) fn device_queues(queues: &[DeviceQueues]) -> impl Iterator<Item = Note> {
    queues.iter().take(MAX_DEVICES).flat_map(|device| {
        let (reads, writes) = (device.reads.as_ref(), device.writes.as_ref());
        let requests = Some(&device.all).filter(|_| reads.is_none() && writes.is_none());
        let uses = [("reads", reads), ("writes", writes), ("requests", requests)];
        uses.into_iter().filter_map(move |(what, usage)| {
            let heading = format!("{what} by queue of {}", device.device);
            Some(Note::plain(&heading, queue_use(usage?, device.queues)))
        })
    })
}

/// A sentence on how requests are spread over a device's queues: how many of them are used, how
/// evenly, and if the requests follow the map from CPUs to queues.
fn queue_use(usage: &QueueUse, queues: Option<u64>) -> String {
    let requests = count(usage.requests);
    if queues == Some(1) {
        return format!("{requests} in the only queue");
    }
    let used_queues = usage.queues.iter().filter(|q| q.requests > 0).count();
    let mut sentence = match queues {
        Some(total) => format!("{requests} in {used_queues} of {total} queues"),
        None => format!(
            "{requests} in {}; how many the device has, the trace does not tell: {} over these (deviation {})",
            counted(used_queues, "queue"),
            usage.used.verdict,
            percent(usage.used.cv)
        ),
    };
    if let Some(unused) = usage.unused.as_ref().filter(|unused| !unused.is_empty()) {
        sentence += &format!(" (unused: {})", label::number_ranges(unused, ", "));
    }
    if let (true, Some(even)) = (usage.sets.is_empty(), &usage.even) {
        sentence += &format!("; over all queues {}", evenness(even));
    }
    for set in &usage.sets {
        let set_queues = label::number_ranges(&set.queues, ", ");
        let requests = count(set.requests);
        sentence += &match &set.even {
            Some(even) => format!("; {requests} over the set {set_queues} {}", evenness(even)),
            None => format!("; none in the set {set_queues}"),
        };
    }
    sentence + &map_fit_text(usage)
}

fn evenness(balance: &Balance) -> String {
    format!("{} (deviation {})", balance.verdict, percent(balance.cv))
}

fn map_fit_text(usage: &QueueUse) -> String {
    const UNKNOWN_CPUS: &str =
        "; not compared with the map from CPUs to queues: CPUs of some requests are not known";
    match (&usage.map, usage.no_map) {
        (Some(fit), _) => {
            let how = match fit.verdict {
                MapVerdict::AsMapped => "spread",
                MapVerdict::Nearly => "nearly spread",
                MapVerdict::Otherwise => "not spread",
            };
            let share = percent(fit.misplaced);
            format!(
                "; {how} as the map from CPUs to queues has it ({share} in other queues than expected)"
            )
        }
        (None, Some(NoMapFit::UnknownCpus)) => UNKNOWN_CPUS.to_owned(),
        (None, None) => String::new(),
    }
}

/// Stages with their shares: `Q2G 12.3 %, D2C 87.7 %`.
fn shares(by_stage: &BTreeMap<String, f64>) -> String {
    let names = STAGE_ORDER.iter().chain(&["rest"]);
    let present = names.filter_map(|name| Some((name, by_stage.get(*name)?)));
    listed(present.map(|(name, share)| format!("{name} {}", percent(*share))))
}

/// A sentence on a load class: the shares of all stages, headed by its range of I/Os in flight.
/// `most` is the largest number of I/Os that was in flight, if known.
fn load_note(class: &LoadClass, most: Option<u64>) -> Note {
    let (from, to) = load_range(class, most);
    let (ios, mean) = (count(class.requests), duration(class.mean_q2c_ns));
    let breakdown = format!("{ios} I/Os, mean Q2C {mean}: {}", shares(&class.shares));
    Note::plain(&format!("{} in flight", label::range(from, to)), breakdown)
}

/// The range of I/Os in flight of a load class, both ends included; the upper is at most `most`.
pub(crate) fn load_range(class: &LoadClass, most: Option<u64>) -> (u64, u64) {
    let to = most.map_or(class.to, |most| class.to.min(most));
    (class.from, to.max(class.from))
}

/// Events and I/Os that could not be used, counted by reason; `None` if all could be used.
pub(crate) fn reason_counts(unmatched: &BTreeMap<String, u64>) -> Option<String> {
    let reasons = unmatched.iter();
    listed_if_any(reasons.map(|(reason, n)| format!("{reason} ({n})")))
}

/// A sentence for each reason why figures are inexact, which names these figures.
fn inexact_sentences(result: &AnalyzeResult) -> Vec<String> {
    let mut reasons: Vec<InexactReason> = result.inexact.iter().map(|mark| mark.reason).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let sentences = reasons.into_iter().map(|reason| {
        let marks = result.inexact.iter().filter(|mark| mark.reason == reason);
        reason_sentence(reason, &marks.collect::<Vec<_>>())
    });
    sentences.collect()
}

fn reason_sentence(reason: InexactReason, marks: &[&InexactMark]) -> String {
    let times = match marks.iter().map(|mark| mark.joins).max().unwrap_or(0) {
        1 => ", once".to_owned(),
        joins => format!(", {} times", count(joins)),
    };
    let explanation = match reason {
        InexactReason::Devices => {
            "not known from parts of different devices (the I/Os around the slowest are those of its part)"
        }
        InexactReason::LongIo => {
            "I/Os of an earlier part lasted beyond the first I/Os of a later one"
        }
        InexactReason::Order => "a part began before the last I/O of the part before it",
        InexactReason::Overflow => "there were more of them than are told apart",
        InexactReason::Window => "it has the I/Os of the first part alone",
    };
    let is_counted = matches!(reason, InexactReason::LongIo | InexactReason::Order);
    let times = when(is_counted, &times);
    let figures = listed(marks.iter().map(|mark| figure_name(mark.figure)));
    format!("{figures}: {explanation}{times}")
}

fn figure_name(figure: InexactFigure) -> &'static str {
    match figure {
        InexactFigure::MostInFlight => "most I/Os in flight",
        InexactFigure::Activity => "active and idle time",
        InexactFigure::OverLoad => "shares by the number in flight",
        InexactFigure::Tags => "requests in use",
        InexactFigure::Seeks => "seeks and Q2Q",
        InexactFigure::Groups => "groups",
        InexactFigure::Queues => "hardware queues",
        InexactFigure::Excerpts => "single I/Os",
    }
}

/// The number of I/Os that the percentiles lack, and why; `None` if the result does not say.
fn partly_seen(result: &AnalyzeResult) -> Option<Note> {
    let lack = result.not_whole.as_ref()?;
    let total = count(lack.of);
    let reasons = lack.reasons.iter().filter(|(_, n)| **n > 0);
    let reasons = reasons.map(|(reason, n)| format!("{} {}", count(*n), reason_text(reason)));
    let is_warned = result.warnings.iter().any(|w| w.id == "lost-ios");
    let message = match lack.ios {
        0 => format!("none of {total} I/Os"),
        ios => format!(
            "{} of {total} I/Os ({}), which no percentile of Q2C has: {}{}",
            count(ios),
            percent(lack.share),
            joined(reasons, "; "),
            when(is_warned, "; the warning lost-ios says what to do")
        ),
    };
    let weight = Weight::good_if(lack.ios == 0);
    Some(Note::new(weight, "not wholly seen", message))
}

fn reason_text(reason: &str) -> &str {
    match reason {
        "completion without queue" => {
            "have no begin: in flight when the recording began, or the kernel did not show their Q"
        }
        "never issued" => "were not handed to the driver until the end of the recording",
        "never completed" => {
            "have no end: in flight when the recording ended, or the kernel did not show their C"
        }
        "queued again, its end not seen" => "have no end: the kernel did not show their C",
        "lost: ring full" => "found no room in the ring of their CPU",
        "lost: too many in flight" => "were too many in flight",
        "times that fall" => "have times that fall, so that they are in no figure",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a trace with at most 4 I/Os in flight, the class of 4 to 7 becomes a class of 4.
    #[test]
    fn no_load_class_goes_above_the_most_in_flight() {
        let class = LoadClass {
            from: 4,
            to: 7,
            ..LoadClass::default()
        };
        let ranges = [Some(4), Some(6), None].map(|most| load_range(&class, most));
        assert_eq!(ranges, [(4, 4), (4, 6), (4, 7)]);
    }

    fn mark(figure: InexactFigure, reason: InexactReason, joins: u64) -> InexactMark {
        InexactMark {
            figure,
            reason,
            joins,
        }
    }

    #[test]
    fn each_reason_names_its_figures() {
        let mut result = AnalyzeResult::default();
        assert!(inexact_sentences(&result).is_empty());
        result.inexact = vec![
            mark(InexactFigure::Activity, InexactReason::LongIo, 3),
            mark(InexactFigure::Groups, InexactReason::Overflow, 1),
            mark(InexactFigure::OverLoad, InexactReason::LongIo, 2),
        ];
        assert_eq!(
            inexact_sentences(&result),
            [
                "active and idle time, shares by the number in flight: I/Os of an earlier part lasted beyond the first I/Os of a later one, 3 times",
                "groups: there were more of them than are told apart",
            ]
        );
    }
}
