//! What an answer would be worth to the program.
//!
//! The workload's jobs do nothing but I/O, or sleep between their I/Os as long as the program's
//! submitters at the median. These do other things, too. Only the time in which they have I/Os of
//! the measured kind in flight changes, and it changes as the workload's latency did.

use crate::program::copied::{DEEP, rounded};
use q2c_model::Bytes;
use q2c_result::program::{
    CpuOfIo, LikenedFigure, Likeness, Program, ProgramPattern, Worth, WorthCaveat,
};
use q2c_result::tune::{Cell, MethodName, PerCore, Recommendation};

/// The worth of an answer at the block size of `like`. The cells are of the recommended method and
/// of the one that the program is taken to use.
pub(crate) fn worth(
    program: &Program,
    like: &Likeness,
    (method, over): (&Cell, &Cell),
    caveats: Vec<WorthCaveat>,
) -> Worth {
    let pattern = &program.pattern;
    let wait_share = wait_share(pattern, like.bs);
    let mean = |cell: &Cell| cell.measured.latencies.mean_ns.median;
    let latency_times = ratio(mean(method), mean(over));
    let cpu = cpu(program.copied.jobs, method, over);
    let rate = like.share * ratio_or(pattern.ios as f64, pattern.seconds, 0.0);
    Worth {
        bs: like.bs,
        method: MethodName(method.method.clone()),
        over: MethodName(over.method.clone()),
        ios_share: like.share,
        wait_share,
        iops_times: iops_times(method, over),
        latency_times,
        program_times: ratio(1.0, 1.0 - wait_share * (1.0 - latency_times)),
        program_cpu_pct: cpu.map(|cpu| (cpu.method_ns - cpu.over_ns) * rate / 1e9 * 100.0),
        cpu,
        caveats,
    }
}

/// IOPS by one method over those by another. Each trial's IOPS over those of the polling beside it
/// are compared where both methods have them, since trial and polling saw the same device.
fn iops_times(method: &Cell, over: &Cell) -> f64 {
    let paired = |cell: &Cell| Some(cell.relative?.iops).filter(|iops| iops.trials > 0);
    match (paired(method), paired(over)) {
        (Some(method), Some(over)) => ratio(method.median, over.median),
        _ => {
            let iops = |cell: &Cell| cell.measured.rates.iops.median;
            ratio(iops(method), iops(over))
        }
    }
}

/// Share of the submitters' time with such I/Os in flight.
fn wait_share(pattern: &ProgramPattern, bs: Bytes) -> f64 {
    let sum = |ios: u64, mean_ns: f64| ios as f64 * mean_ns;
    let kinds = pattern.kinds.iter();
    let all_ns: f64 = kinds.map(|kind| sum(kind.ios, kind.latency.mean_ns)).sum();
    let main = pattern.kinds.first();
    let sizes = main.into_iter().flat_map(|kind| &kind.sizes);
    let sizes = sizes.filter(|size| rounded(size.bytes) == bs);
    let size_ns: f64 = sizes.map(|size| sum(size.ios, size.latency.mean_ns)).sum();
    (ratio_or(size_ns, all_ns, 0.0) * pattern.lane_busy).clamp(0.0, 1.0)
}

/// CPU per I/O of both methods: of the machine where it is known of both, else of the threads.
/// `None` without an I/O.
fn cpu(jobs: u32, method: &Cell, over: &Cell) -> Option<CpuOfIo> {
    let both = |per_io: &dyn Fn(&Cell) -> f64, cores| {
        let (method_ns, over_ns) = (per_io(method), per_io(over));
        (method_ns.is_finite() && over_ns.is_finite()).then_some(CpuOfIo {
            method_ns,
            over_ns,
            of: cores,
        })
    };
    let per_second = |cell: &Cell| cell.measured.rates.iops.median;
    let machine = |cell: &Cell| cell.measured.busy_cpus.median / per_second(cell) * 1e9;
    // Thread CPU is per job.
    let threads = |cell: &Cell| {
        let cpus = cell.measured.rates.cpu_pct.median / 100.0 * f64::from(jobs);
        cpus / per_second(cell) * 1e9
    };
    if [method, over].into_iter().all(knows_the_machine) {
        both(&machine, PerCore::Machine)
    } else {
        both(&threads, PerCore::Threads)
    }
}

/// Whether the machine's busy CPUs are known of every trial of a cell.
fn knows_the_machine(cell: &Cell) -> bool {
    let measured = &cell.measured;
    measured.busy_cpus.trials == measured.rates.iops.trials
}

/// What makes the worth of an answer doubtful. `disk` is the one that the trials ran on.
pub(crate) fn caveats(
    program: &Program,
    like: &Likeness,
    answer: &Recommendation,
    disk: Option<&str>,
) -> Vec<WorthCaveat> {
    let pattern = &program.pattern;
    let unlike = like.figures.iter().filter(|figure| !figure.like);
    let unlike: Vec<LikenedFigure> = unlike.map(|figure| figure.figure).collect();
    let deep = pattern.lane_depth >= DEEP;
    let lost = program.recording.lost;
    let other = disk.filter(|disk| program.recording.has_disk(disk) == Some(false));
    let caveats = [
        (!unlike.is_empty()).then_some(WorthCaveat::Unlike(unlike)),
        deep.then_some(WorthCaveat::LaneDepth(pattern.lane_depth)),
        (!answer.is_settled()).then_some(WorthCaveat::NotSettled),
        (lost > 0).then_some(WorthCaveat::Lost(lost)),
        other.map(|disk| WorthCaveat::OtherDisk(disk.to_owned())),
    ];
    caveats.into_iter().flatten().collect()
}

/// A ratio; 1 where there is none.
fn ratio(a: f64, b: f64) -> f64 {
    ratio_or(a, b, 1.0)
}

fn ratio_or(a: f64, b: f64, other: f64) -> f64 {
    let ratio = a / b;
    if ratio.is_finite() { ratio } else { other }
}
