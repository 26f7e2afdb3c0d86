//! Tables and sentences of `q2c analyze` that terminal and page share.

use crate::quantity::{NOTHING, count, duration, number};
use crate::rates::Rates;
use q2c_model::facts::ONE_PROCESS;
use q2c_model::{Bytes, Layer};
use q2c_result::analyze::{
    AnalyzeResult, Balance, DeviceQueues, Group, LoadClass, MapFit, MapVerdict, NoMapFit, QueueUse,
    Seeks, StageStats,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Stages in the order of a request's life.
pub(crate) const ORDER: [&str; 11] = [
    "Q2Q", "Q2G", "G2I", "Q2M", "I2D", "G2D", "M2D", "D2C", "Q2C", "U2U", "U2C",
];

/// Heads of the table of stages.
pub(crate) const STAGE_HEAD: [&str; 10] = [
    "stage", "I/Os", "min", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max",
];

/// Most devices whose seeks are described in words.
const DEVICES: usize = 4;

/// A time in ns with a fitting unit.
pub(crate) fn time(ns: f64) -> String {
    duration(ns)
}

/// The name of the whole latency in this layer.
pub(crate) fn latency_name(layer: Layer) -> &'static str {
    match layer {
        Layer::Block => "Q2C",
        Layer::User => "U2C",
    }
}

/// The trace in a line: number of I/Os, length, layer and source.
pub(crate) fn about(result: &AnalyzeResult) -> String {
    let process = result.input.facts.get(ONE_PROCESS);
    let process = process.map_or(String::new(), |process| format!(" of process {process}"));
    format!(
        "{} I/Os{process} in {} · {} layer · from {}",
        count(result.requests),
        time(result.span_ns as f64),
        result.layer.name(),
        result.input.source
    )
}

/// A stage's row in the order of [`STAGE_HEAD`]; `None` when no I/O has the stage.
pub(crate) fn stage_row(stages: &BTreeMap<String, StageStats>, name: &str) -> Option<Vec<String>> {
    let of = stages.get(name)?;
    let times = [
        of.min_ns as f64,
        of.mean_ns,
        of.p50_ns,
        of.p90_ns,
        of.p99_ns,
        of.p999_ns,
        of.p9999_ns,
        of.max_ns as f64,
    ];
    let names = [name.to_owned(), count(of.n)];
    Some(names.into_iter().chain(times.map(time)).collect())
}

/// The groups of one property as a table. `head` begins behind the first column, which holds the
/// group's name.
pub(crate) struct GroupTable {
    pub head: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

/// Makes the table of some groups, without the columns in which no group has a number.
pub(crate) fn group_table<'a>(groups: impl Iterator<Item = &'a Group>) -> GroupTable {
    const HEAD: [&str; 8] = [
        "I/Os", "MiB", "mean", "p50", "p99", "max", "D2C mean", "D2C p99",
    ];
    let rows: Vec<Vec<String>> = groups.map(group_row).collect();
    let has = |column: &usize| rows.iter().any(|row| row[*column] != NOTHING);
    let kept: Vec<usize> = (1..=HEAD.len()).filter(has).collect();
    let all = |row: &Vec<String>| {
        let fields = kept.iter().map(|column| row[*column].clone());
        std::iter::once(row[0].clone()).chain(fields).collect()
    };
    GroupTable {
        head: kept.iter().map(|column| HEAD[column - 1]).collect(),
        rows: rows.iter().map(all).collect(),
    }
}

/// A group's row with all columns.
fn group_row(group: &Group) -> Vec<String> {
    let stage = |names: [&str; 2]| names.iter().find_map(|name| group.stages.get(*name));
    let field = |of: Option<&StageStats>, get: fn(&StageStats) -> f64| {
        of.map_or_else(|| NOTHING.to_owned(), |of| time(get(of)))
    };
    let (all, device) = (stage(["Q2C", "U2C"]), stage(["D2C", ""]));
    vec![
        group.key.clone(),
        count(group.requests),
        number(group.bytes as f64 / f64::from(1 << 20)),
        field(all, |s| s.mean_ns),
        field(all, |s| s.p50_ns),
        field(all, |s| s.p99_ns),
        field(all, |s| s.max_ns as f64),
        field(device, |s| s.mean_ns),
        field(device, |s| s.p99_ns),
    ]
}

/// The properties that all I/Os have in common, which have no table of groups: `op read, size
/// 4 KiB`; `None` where there is none.
fn alike(result: &AnalyzeResult) -> Option<(String, String)> {
    let only = |groups: &Vec<Group>| match &groups[..] {
        [one] if one.requests == result.requests => Some(one_size(one)),
        _ => None,
    };
    let shared = result.groups.iter();
    let shared: Vec<String> = shared
        .filter_map(|(property, groups)| Some(format!("{property} {}", only(groups)?)))
        .collect();
    (!shared.is_empty()).then(|| ("of all I/Os".to_owned(), shared.join(", ")))
}

/// The name of a group, without the `up to` of a size class where every I/O has the largest size.
fn one_size(group: &Group) -> String {
    let bound = Bytes(group.bytes / group.requests.max(1));
    let exact = group.key == format!("up to {bound}") && bound.0 * group.requests == group.bytes;
    match exact {
        true => bound.to_string(),
        false => group.key.clone(),
    }
}

/// Most processes of one name that are told one by one.
const PROCESSES: usize = 6;

/// The processes whose I/Os were taken by a name that several have; `None` where one was.
pub(crate) fn taken(result: &AnalyzeResult) -> Option<String> {
    let name = result.input.facts.get(ONE_PROCESS)?;
    let mut all: Vec<&Group> = result.groups.get("process")?.iter().collect();
    if all.len() < 2 {
        return None;
    }
    all.sort_by_key(|group| Reverse(group.requests));
    let each = all.iter().take(PROCESSES);
    let each: Vec<String> = each
        .map(|group| format!("{} with {} I/Os", group.key, count(group.requests)))
        .collect();
    let more = match all.len().saturating_sub(PROCESSES) {
        0 => String::new(),
        n => format!(", {n} more"),
    };
    Some(format!(
        "{} have the name {name}: {}{more}; --process NUMBER takes one alone",
        all.len(),
        each.join(", ")
    ))
}

/// Headings with a sentence each: what all I/Os share, rate, reads and writes, in flight, active,
/// merging, seeks.
pub(crate) fn words(result: &AnalyzeResult) -> Vec<(String, String)> {
    let mut words: Vec<(String, String)> = alike(result).into_iter().collect();
    words.extend(rates(result));
    words.extend(match result.completed {
        0 => vec![(
            "latency, load".to_owned(),
            "unknown: the trace has no completions".to_owned(),
        )],
        _ => load_words(result),
    });
    words.extend(result.merge_ratio.map(|ratio| {
        let told = format!(
            "{} I/Os for each request issued ({} merged)",
            number(ratio),
            count(result.merged)
        );
        ("merging".to_owned(), told)
    }));
    words.extend(seeks(result));
    words
}

/// I/Os and bytes per second, and the shares of reads and writes.
fn rates(result: &AnalyzeResult) -> Vec<(String, String)> {
    let groups = result.groups.get("op").into_iter().flatten();
    let ops = groups.map(|group| (group.key.as_str(), group.requests, group.bytes));
    let told = Rates::of(ops, result.requests, result.span_ns).told(&result.input.facts);
    let named = |(head, words): (&str, String)| (head.to_owned(), words);
    told.into_iter().map(named).collect()
}

/// What is said of I/Os in flight, and of the time with and without any.
fn load_words(result: &AnalyzeResult) -> Vec<(String, String)> {
    let mean = (result.in_flight.mean).map(|mean| format!("{} on average", number(mean)));
    let most = (result.in_flight.most).map(|most| format!("{} at most", count(most)));
    let known: Vec<String> = mean.into_iter().chain(most).collect();
    let in_flight = if known.is_empty() {
        "not known without the queueing of I/Os".to_owned()
    } else {
        known.join(", ")
    };
    let active = result.activity.map(|activity| {
        let words = format!(
            "{}, idle {} with {} pauses of 100 ms or more, the longest {}",
            time(activity.active_ns as f64),
            time(activity.idle_ns as f64),
            count(activity.pauses),
            time(activity.longest_idle_ns as f64)
        );
        ("active".to_owned(), words)
    });
    let in_flight = ("in flight".to_owned(), in_flight);
    [in_flight].into_iter().chain(active).collect()
}

/// Sentences on the seeks of the devices with most of them.
fn seeks(result: &AnalyzeResult) -> impl Iterator<Item = (String, String)> {
    let mut all: Vec<&Seeks> = result.seeks.iter().filter(|seeks| seeks.n > 0).collect();
    all.sort_by_key(|seeks| Reverse(seeks.n));
    let more = all.len().saturating_sub(DEVICES);
    let told = |seeks: &Seeks| {
        let words = format!(
            "{} % sequential, mean {} sectors, median {}",
            number(seeks.sequential as f64 / seeks.n as f64 * 100.0),
            number(seeks.mean_sectors),
            number(seeks.median_sectors)
        );
        (format!("seeks on {}", seeks.device), words)
    };
    let shown: Vec<(String, String)> = all.into_iter().take(DEVICES).map(told).collect();
    let rest = (more > 0).then(|| ("and".to_owned(), format!("{more} more; --json has all")));
    shown.into_iter().chain(rest)
}

/// A sentence on how evenly requests are spread over the hardware queues; `None` when the trace
/// names no queues.
pub(crate) fn balance(result: &AnalyzeResult) -> Option<String> {
    let balance = result.balance.as_ref()?;
    Some(format!(
        "{} over {} hardware queues (deviation {} %, chi-square {}, p = {})",
        balance.verdict,
        balance.queues,
        number(balance.cv * 100.0),
        number(balance.chi_square),
        number(balance.p)
    ))
}

/// What is told of each device's hardware queues, reads apart from writes: a heading and a sentence
/// each. Nothing when the trace names no queues.
pub(crate) fn device_queues(queues: &[DeviceQueues]) -> impl Iterator<Item = (String, String)> {
    let told = |device: &DeviceQueues| {
        let parts = [("reads", &device.reads), ("writes", &device.writes)];
        let mut all: Vec<(String, String)> = parts
            .into_iter()
            .filter_map(|(what, part)| Some((what, part.as_ref()?)))
            .map(|(what, part)| (what.to_owned(), queue_use(part, device.queues)))
            .collect();
        if all.is_empty() {
            all.push(("requests".to_owned(), queue_use(&device.all, device.queues)));
        }
        let named = |(what, words)| (format!("{what} by queue of {}", device.device), words);
        all.into_iter().map(named).collect::<Vec<_>>()
    };
    queues.iter().take(DEVICES).flat_map(told)
}

/// One sentence on the use of a device's queues: against all of them, and against the map.
fn queue_use(part: &QueueUse, queues: Option<u64>) -> String {
    if queues == Some(1) {
        return format!("{} in the only queue", count(part.requests));
    }
    let used = part
        .queues
        .iter()
        .filter(|queue| queue.requests > 0)
        .count();
    let mut words = match queues {
        Some(all) => format!("{} in {used} of {all} queues", count(part.requests)),
        None => format!(
            "{} in {used} {}; how many the device has, the trace does not tell: {} over these (deviation {} %)",
            count(part.requests),
            if used == 1 { "queue" } else { "queues" },
            part.used.verdict,
            number(part.used.cv * 100.0)
        ),
    };
    if let Some(unused) = part.unused.as_ref().filter(|unused| !unused.is_empty()) {
        words += &format!(" (unused: {})", numbers(unused));
    }
    if part.sets.is_empty()
        && let Some(even) = &part.even
    {
        words += &format!("; over all queues {}", spread(even));
    }
    for set in &part.sets {
        let of = numbers(&set.queues);
        words += &match &set.even {
            Some(even) => format!(
                "; {} over the set {of} {}",
                count(set.requests),
                spread(even)
            ),
            None => format!("; none in the set {of}"),
        };
    }
    words + &against_map(part)
}

fn spread(even: &Balance) -> String {
    format!("{} (deviation {} %)", even.verdict, number(even.cv * 100.0))
}

fn against_map(part: &QueueUse) -> String {
    let share = |fit: &MapFit| number(fit.misplaced * 100.0);
    match (&part.map, part.no_map) {
        (Some(fit), _) => {
            let how = match fit.verdict {
                MapVerdict::AsMapped => "spread as the map from CPUs to queues has it",
                MapVerdict::Nearly => "nearly spread as the map from CPUs to queues has it",
                MapVerdict::Otherwise => "not spread as the map from CPUs to queues has it",
            };
            format!("; {how} ({} % in other queues than expected)", share(fit))
        }
        (None, Some(NoMapFit::UnknownCpus)) => {
            "; not compared with the map from CPUs to queues: CPUs of some requests are not known"
                .to_owned()
        }
        (None, None) => String::new(),
    }
}

/// Numbers in rising order, with ranges: `0-3, 8`.
fn numbers(of: &[u32]) -> String {
    let runs = of.chunk_by(|a, b| a + 1 == *b);
    let run = |run: &[u32]| match run {
        [first, .., last] => format!("{first}-{last}"),
        other => other.iter().map(u32::to_string).collect(),
    };
    runs.map(run).collect::<Vec<_>>().join(", ")
}

/// Stages with their shares: `Q2G 12.3 %, D2C 87.7 %`.
pub(crate) fn shares(of: &BTreeMap<String, f64>) -> String {
    let known = ORDER
        .iter()
        .chain(&["rest"])
        .filter_map(|name| Some((name, of.get(*name)?)));
    let words: Vec<String> = known
        .map(|(name, share)| format!("{name} {} %", number(share * 100.0)))
        .collect();
    words.join(", ")
}

/// A load class: its range of I/Os in flight (`4-7`), and a sentence on its I/Os with the shares of
/// all stages. `most` is the most that was in flight, where it is known.
pub(crate) fn load(class: &LoadClass, most: Option<u64>) -> (String, String) {
    let (from, to) = load_range(class, most);
    let range = match from == to {
        true => from.to_string(),
        false => format!("{from}-{to}"),
    };
    let words = format!(
        "{} I/Os, mean Q2C {}: {}",
        count(class.requests),
        time(class.mean_q2c_ns),
        shares(&class.shares)
    );
    (range, words)
}

/// The ends of a load class, of which the upper one is not above the most that was in flight.
pub(crate) fn load_range(class: &LoadClass, most: Option<u64>) -> (u64, u64) {
    let to = most.map_or(class.to, |most| class.to.min(most));
    (class.from, to.max(class.from))
}

/// Events and I/Os that could not be used, by reason; `None` when all could be.
pub(crate) fn unmatched(unmatched: &BTreeMap<String, u64>) -> Option<String> {
    let reasons: Vec<String> = unmatched
        .iter()
        .map(|(why, n)| format!("{why} ({n})"))
        .collect();
    (!reasons.is_empty()).then(|| reasons.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A class of 4 to 7 in a trace that never had more than 4 is one of 4.
    #[test]
    fn no_load_class_goes_above_the_most_in_flight() {
        let class = LoadClass {
            from: 4,
            to: 7,
            ..LoadClass::default()
        };
        let range = |most| load(&class, most).0;
        assert_eq!([Some(4), Some(6), None].map(range), ["4", "4-6", "4-7"]);
    }
}
