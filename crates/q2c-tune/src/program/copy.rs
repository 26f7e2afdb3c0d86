use q2c_model::Bytes;
use q2c_result::program::{
    CopiedBackground, CopiedWorkload, KindOfIo, NoThink, NotCopied, ProgramPattern, SizeOfIo, Think,
};
use std::ops::RangeInclusive;

/// Block sizes are multiples of this many bytes, since most targets take no others.
const BLOCK_BYTES: u64 = 4096;
/// Least share of its direction's I/Os for which a size is measured, and the most such sizes.
const MIN_SIZE_SHARE: f64 = 0.15;
const MAX_SIZES: usize = 3;
/// The most jobs, and the most I/Os in flight of one job.
const MAX_JOBS: u32 = 1024;
/// Mean I/Os in flight of the other direction from which on a job does them. A job always has at
/// least one in flight.
const MIN_IN_FLIGHT: f64 = 0.5;
/// Least share of something not copied that is reported.
const MIN_SHARE: f64 = 0.05;
/// From this mean number of I/Os in flight on, a submitter counts as having several.
pub(crate) const MIN_DEEP_LANE: f64 = 1.1;
/// Think times that jobs can have, ns. Shorter sleeps end some 20 us late on many machines. With
/// longer ones a trial of a second has too few I/Os.
const THINK_NS: RangeInclusive<f64> = 25e3..=10e6;
/// From this ratio of mean to median think time on, pauses are reported.
const MIN_PAUSE_RATIO: f64 = 1.5;
/// I/Os count as sequential if a larger share than this is in sequence.
const MIN_SEQUENTIAL: f64 = 0.5;

/// The workload for a pattern with at least one I/O, on a machine where q2c may use `cpus` CPUs.
/// Each foreground job polls, so there are at most as many jobs as CPUs.
pub fn nearest_workload(pattern: &ProgramPattern, cpus: u32) -> CopiedWorkload {
    let Some((main, others)) = pattern.kinds.split_first() else {
        return CopiedWorkload::default();
    };
    let think_ns = think_ns(pattern);
    let to_background = |kind| background_job(pattern, kind, think_ns);
    let mut background: Vec<CopiedBackground> = others.iter().filter_map(to_background).collect();
    let submitters = submitters(pattern, main, think_ns);
    let needed = (submitters.round() as u32).clamp(1, MAX_JOBS);
    let background_has_cpu = cpus > 1 && (!background.is_empty() || needed > cpus);
    let jobs = needed.min(cpus.max(1) - u32::from(background_has_cpu));
    let sizes = sizes(main);
    if needed > jobs {
        let busy_share = think_ns.map_or(1.0, |_| pattern.lane_busy);
        let depth = f64::from(needed - jobs) * busy_share;
        background.push(CopiedBackground {
            depth: depth.round().max(1.0) as u16,
            ..background_base(main)
        });
    }
    let mut copied = CopiedWorkload {
        direction: main.direction,
        random: is_random(main),
        sizes,
        jobs,
        think_ns,
        background,
        not_copied: Vec::new(),
    };
    copied.not_copied = not_copied(pattern, &copied, needed);
    copied
}

/// The median think time of the program, ns; `None` if jobs cannot have it.
fn think_ns(pattern: &ProgramPattern) -> Option<f64> {
    let p50_ns = known_think(pattern)?.p50_ns;
    THINK_NS.contains(&p50_ns).then_some(p50_ns)
}

/// The program's think times, if they fill at least [`MIN_SHARE`] of its submitters' time.
fn known_think(pattern: &ProgramPattern) -> Option<Think> {
    let think = pattern.think;
    think.filter(|_| 1.0 - pattern.lane_busy >= MIN_SHARE)
}

/// I/Os in flight of the foreground's direction if the submitters did nothing else. With think time
/// this is the number of submitters that lived at a time, over the whole recording. Without it,
/// this is the mean number of I/Os in flight while there were any.
pub(crate) fn submitters(pattern: &ProgramPattern, main: &KindOfIo, think_ns: Option<f64>) -> f64 {
    let in_flight = main.in_flight;
    match think_ns {
        Some(_) => in_flight.mean * in_flight.busy_seconds / pattern.seconds / pattern.lane_busy,
        None => in_flight.mean,
    }
}

/// A background job for the direction that is not in the foreground; `None` if the direction has
/// too few I/Os in flight.
fn background_job(
    pattern: &ProgramPattern,
    kind: &KindOfIo,
    think_ns: Option<f64>,
) -> Option<CopiedBackground> {
    let in_flight = mean_in_flight(pattern, kind, think_ns);
    (in_flight >= MIN_IN_FLIGHT).then(|| CopiedBackground {
        depth: in_flight.round().clamp(1.0, f64::from(MAX_JOBS)) as u16,
        ..background_base(kind)
    })
}

/// Mean I/Os in flight of one direction over the time that the workload represents. With think time
/// this is the whole recording, else the time with any I/O in flight.
fn mean_in_flight(pattern: &ProgramPattern, kind: &KindOfIo, think_ns: Option<f64>) -> f64 {
    let in_flight = kind.in_flight;
    let seconds = match think_ns {
        Some(_) => pattern.seconds,
        None => pattern.in_flight.busy_seconds,
    };
    let sum = in_flight.mean * in_flight.busy_seconds;
    if seconds > 0.0 { sum / seconds } else { 0.0 }
}

fn background_base(kind: &KindOfIo) -> CopiedBackground {
    let size = kind.sizes.first().map(|size| to_block_size(size.bytes));
    CopiedBackground {
        direction: kind.direction,
        random: is_random(kind),
        bs: size.unwrap_or(Bytes(BLOCK_BYTES)),
        depth: 1,
    }
}

fn is_random(kind: &KindOfIo) -> bool {
    kind.sequential.unwrap_or_default() < MIN_SEQUENTIAL
}

/// The block size that represents I/Os of this size.
pub(crate) fn to_block_size(size: Bytes) -> Bytes {
    let blocks = size.0.div_ceil(BLOCK_BYTES).max(1);
    Bytes(blocks.saturating_mul(BLOCK_BYTES))
}

/// The measured sizes, the most frequent first.
fn sizes(main: &KindOfIo) -> Vec<Bytes> {
    let mut rounded_sizes: Vec<(Bytes, u64)> = Vec::new();
    for SizeOfIo { bytes, ios, .. } in &main.sizes {
        let bs = to_block_size(*bytes);
        match rounded_sizes.iter_mut().find(|(size, _)| *size == bs) {
            Some((_, n)) => *n += ios,
            None => rounded_sizes.push((bs, *ios)),
        }
    }
    rounded_sizes.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let min_ios = MIN_SIZE_SHARE * main.ios as f64;
    let chosen = rounded_sizes.iter().enumerate();
    let chosen = chosen.filter(|(at, (_, n))| *at == 0 || *n as f64 >= min_ios);
    chosen.map(|(_, (bs, _))| *bs).take(MAX_SIZES).collect()
}

/// Number of I/Os of a direction that a block size represents.
pub(crate) fn ios_at(main: &KindOfIo, bs: Bytes) -> u64 {
    let sizes = main.sizes.iter();
    let sizes = sizes.filter(|size| to_block_size(size.bytes) == bs);
    sizes.map(|size| size.ios).sum()
}

/// All that the workload does not copy from a pattern that needs `needed` jobs.
fn not_copied(pattern: &ProgramPattern, copied: &CopiedWorkload, needed: u32) -> Vec<NotCopied> {
    let Some((main, others)) = pattern.kinds.split_first() else {
        return Vec::new();
    };
    let mut not_copied = missing_times(pattern, copied, needed);
    not_copied.extend(missing_sizes(main, copied));
    for kind in others {
        let direction = kind.direction;
        let has_direction = |job: &&CopiedBackground| job.direction == direction;
        not_copied.push(match copied.background.iter().find(has_direction) {
            Some(_) => NotCopied::BackgroundRate { direction },
            None => NotCopied::OtherDirection {
                direction,
                share: kind.ios as f64 / pattern.ios as f64,
                in_flight: mean_in_flight(pattern, kind, copied.think_ns),
            },
        });
    }
    match main.sequential {
        None => not_copied.push(NotCopied::NoOffsets),
        Some(sequential) if (MIN_SHARE..1.0 - MIN_SHARE).contains(&sequential) => {
            not_copied.push(NotCopied::Order { sequential });
        }
        Some(_) => {}
    }
    let share = pattern.merged as f64 / pattern.ios as f64;
    if share >= MIN_SHARE {
        not_copied.push(NotCopied::Merged { share });
    }
    if pattern.devices > 1 {
        let devices = pattern.devices;
        not_copied.push(NotCopied::Devices { devices });
    }
    let ios = pattern.left_out.other_operations;
    if ios > 0 {
        not_copied.push(NotCopied::OtherOperations { ios });
    }
    not_copied
}

/// What the workload lacks of a pattern's times: think times, depths, bursts.
fn missing_times(pattern: &ProgramPattern, copied: &CopiedWorkload, needed: u32) -> Vec<NotCopied> {
    let mut not_copied = Vec::new();
    not_copied.extend(known_think(pattern).and_then(|think| missing_think(pattern, think)));
    let (depth, jobs) = (pattern.lane_depth, copied.jobs);
    if depth >= MIN_DEEP_LANE {
        not_copied.push(NotCopied::LaneDepth { depth });
    }
    if needed > jobs {
        not_copied.push(NotCopied::FewerJobs { needed, jobs });
    }
    let in_flight = pattern.in_flight;
    // Submitters that think have any number of I/Os in flight up to all of them.
    let usual = match copied.think_ns {
        Some(_) => f64::from(needed).max(in_flight.mean),
        None => in_flight.mean,
    };
    if in_flight.p99 as f64 > 2.0 * usual + 1.0 {
        let (mean, p99) = (in_flight.mean, in_flight.p99);
        not_copied.push(NotCopied::Bursts { mean, p99 });
    }
    not_copied
}

fn missing_think(pattern: &ProgramPattern, think: Think) -> Option<NotCopied> {
    let (p50_ns, mean_ns) = (think.p50_ns, think.mean_ns);
    let share = 1.0 - pattern.lane_busy;
    if !THINK_NS.contains(&p50_ns) {
        let is_short = p50_ns < *THINK_NS.start();
        return Some(NotCopied::ThinkTime {
            p50_ns,
            share,
            why: if is_short {
                NoThink::TooShort
            } else {
                NoThink::TooLong
            },
        });
    }
    let share = share * (1.0 - p50_ns / mean_ns);
    (mean_ns >= MIN_PAUSE_RATIO * p50_ns && share >= MIN_SHARE).then_some(NotCopied::Pauses {
        p50_ns,
        mean_ns,
        share,
    })
}

fn missing_sizes(main: &KindOfIo, copied: &CopiedWorkload) -> Vec<NotCopied> {
    let sizes = main.sizes.iter().map(|size| size.bytes);
    let sizes = sizes.map(|bytes| (bytes, to_block_size(bytes)));
    let chosen = sizes.filter(|(from, to)| from != to && copied.sizes.contains(to));
    let rounded_size = |(from, to)| NotCopied::RoundedSize { from, to };
    let mut not_copied: Vec<NotCopied> = chosen.map(rounded_size).collect();
    let measured: u64 = copied.sizes.iter().map(|&bs| ios_at(main, bs)).sum();
    let share = 1.0 - measured as f64 / main.ios as f64;
    if share > 0.005 {
        not_copied.push(NotCopied::OtherSizes { share });
    }
    not_copied
}
