//! What an answer would be worth to the program.
//!
//! The workload's jobs only do I/O, or sleep between I/Os for the median think time of the program.
//! The program's submitters also do other things. Only their time with I/Os of the measured kind in
//! flight changes, by the same factor as the workload's latency.

use crate::program::copy::{MIN_DEEP_LANE, to_block_size};
use q2c_model::Bytes;
use q2c_result::program::{
    AnswerWorth, CpuOfIo, LikenedFigure, Likeness, Program, ProgramPattern, WorthCaveat,
};
use q2c_result::tune::{Cell, MethodName, PerCore, Recommendation};

/// The worth of an answer at the block size of `like`. The cells are of the recommended method and
/// of the method that the program is assumed to use.
pub(crate) fn worth(
    program: &Program,
    like: &Likeness,
    (method, over): (&Cell, &Cell),
    caveats: Vec<WorthCaveat>,
) -> AnswerWorth {
    let pattern = &program.pattern;
    let wait_share = wait_share(pattern, like.bs);
    let mean_ns = |cell: &Cell| cell.measured.latencies.mean_ns.median;
    let latency_times = ratio(mean_ns(method), mean_ns(over));
    let cpu = cpu(program.copied.jobs, method, over);
    let rate = like.share * ratio_or(pattern.ios as f64, pattern.seconds, 0.0);
    AnswerWorth {
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

/// Ratio of the IOPS of two methods. If both have IOPS relative to polling, these are compared,
/// since a trial and its polled slices saw the same device.
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

/// Share of the submitters' time with I/Os of this block size in flight, 0..=1.
fn wait_share(pattern: &ProgramPattern, bs: Bytes) -> f64 {
    let sum_ns = |ios: u64, mean_ns: f64| ios as f64 * mean_ns;
    let kinds = pattern.kinds.iter();
    let all_ns = kinds.map(|kind| sum_ns(kind.ios, kind.latency.mean_ns));
    let main = pattern.kinds.first();
    let sizes = main.into_iter().flat_map(|kind| &kind.sizes);
    let sizes = sizes.filter(|size| to_block_size(size.bytes) == bs);
    let size_ns = sizes.map(|size| sum_ns(size.ios, size.latency.mean_ns));
    (ratio_or(size_ns.sum(), all_ns.sum(), 0.0) * pattern.lane_busy).clamp(0.0, 1.0)
}

/// CPU time per I/O of both methods, ns: of the machine if known for both, else of the threads.
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
    // The thread CPU of a cell is the mean per job.
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

/// True if the machine's busy CPUs are known for every trial of a cell.
fn knows_the_machine(cell: &Cell) -> bool {
    let measured = &cell.measured;
    measured.busy_cpus.trials == measured.rates.iops.trials
}

/// Reasons to doubt the worth of an answer. `disk` is the disk that the trials used.
pub(crate) fn caveats(
    program: &Program,
    like: &Likeness,
    answer: &Recommendation,
    disk: Option<&str>,
) -> Vec<WorthCaveat> {
    let pattern = &program.pattern;
    let unlike = like.figures.iter().filter(|figure| !figure.like);
    let unlike: Vec<LikenedFigure> = unlike.map(|figure| figure.figure).collect();
    let deep = pattern.lane_depth >= MIN_DEEP_LANE;
    let lost = program.recording.lost;
    let other_disk = disk.filter(|disk| program.recording.has_disk(disk) == Some(false));
    let caveats = [
        (!unlike.is_empty()).then_some(WorthCaveat::Unlike(unlike)),
        deep.then_some(WorthCaveat::LaneDepth(pattern.lane_depth)),
        (!answer.is_settled()).then_some(WorthCaveat::NotSettled),
        (lost > 0).then_some(WorthCaveat::Lost(lost)),
        other_disk.map(|disk| WorthCaveat::OtherDisk(disk.to_owned())),
    ];
    caveats.into_iter().flatten().collect()
}

/// The quotient a / b; 1 if it is not finite.
fn ratio(a: f64, b: f64) -> f64 {
    ratio_or(a, b, 1.0)
}

fn ratio_or(a: f64, b: f64, fallback: f64) -> f64 {
    let ratio = a / b;
    if ratio.is_finite() { ratio } else { fallback }
}
