use crate::program::copy::{ios_at, submitters, to_block_size};
use crate::program::worth::{caveats, worth};
use q2c_model::{Bytes, Layer};
use q2c_policy::Method;
use q2c_result::program::{
    CopiedBackground, CopiedWorkload, FigureLikeness, IoLatency, KindOfIo, LikenedFigure, Likeness,
    Program, ProgramPattern, SizeOfIo,
};
use q2c_result::tune::{Cell, MethodName, Recommendation};

/// Largest factor between program and workload at which a figure counts as alike.
const MAX_RATIO: f64 = 1.5;
/// Limit for the 99th percentile of latencies, which scatters more, and for the rate of a recording
/// of the block layer. Such a recording lacks submission and wake-up, which a closed loop includes.
const MAX_WIDE_RATIO: f64 = 2.0;
/// Limit for what the workload was set to: sizes, and I/Os in flight without think time.
const MAX_SET_RATIO: f64 = 1.25;

/// Adds to the program of a run how alike its workload is and what the `answers` are worth. Both
/// follow from the trials in `cells`. `disk` is the disk that the trials used.
pub fn compare(
    program: &Program,
    cells: &[Cell],
    answers: &[Recommendation],
    disk: Option<&str>,
) -> Program {
    let (pattern, copied) = (&program.pattern, &program.copied);
    let now = present_method(pattern);
    let sizes = copied.sizes.iter();
    let likeness = sizes.filter_map(|&bs| likeness(pattern, copied, bs, cell(cells, bs, &now)?));
    let likeness: Vec<Likeness> = likeness.collect();
    let worth = answers.iter().filter_map(|answer| {
        let like = likeness.iter().find(|like| like.bs == answer.bs)?;
        let over = cell(cells, answer.bs, &now)?;
        let method = cell(cells, answer.bs, &answer.method)?;
        let caveats = caveats(program, like, answer, disk);
        Some(worth(program, like, (method, over), caveats))
    });
    Program {
        worth: worth.collect(),
        likeness: likeness.clone(),
        ..program.clone()
    }
}

/// The method that the program is assumed to use.
fn present_method(pattern: &ProgramPattern) -> Method {
    if pattern.polled * 2 > pattern.ios {
        Method::POLL
    } else {
        Method::INTERRUPT
    }
}

fn cell<'a>(cells: &'a [Cell], bs: Bytes, method: &Method) -> Option<&'a Cell> {
    let has_ran = |cell: &&Cell| cell.measured.rates.iops.trials > 0;
    let mut ran = cells.iter().filter(has_ran);
    ran.find(|cell| cell.bs == bs && cell.method == *method)
}

fn likeness(
    pattern: &ProgramPattern,
    copied: &CopiedWorkload,
    bs: Bytes,
    cell: &Cell,
) -> Option<Likeness> {
    let main = pattern.kinds.first()?;
    let program = ProgramFigures {
        pattern,
        main,
        bs,
        think_ns: copied.think_ns,
    };
    let (measured, copy_in_flight) = (&cell.measured, in_flight(copied, cell));
    let likened = |figure, program: f64, workload: f64| {
        let max = max_ratio(pattern.layer, figure, copied.think_ns.is_some());
        FigureLikeness {
            figure,
            program,
            workload,
            like: (1.0 / max..=max).contains(&(workload / program)),
        }
    };
    let mut figures = vec![
        likened(LikenedFigure::InFlight, program.in_flight(), copy_in_flight),
        likened(LikenedFigure::Size, program.mean_size(), bs.0 as f64),
    ];
    if let Some(iops) = program.iops(copied.jobs) {
        let measured_iops = measured.rates.iops.median;
        figures.push(likened(LikenedFigure::Iops, iops, measured_iops));
    }
    if let Some(latency) = program.latency() {
        let latencies = &measured.latencies;
        let (p50, p99) = (latencies.p50_ns.median, latencies.p99_ns.median);
        figures.push(likened(LikenedFigure::LatencyP50, latency.p50_ns, p50));
        figures.push(likened(LikenedFigure::LatencyP99, latency.p99_ns, p99));
    }
    // Figures without a usable ratio are left out.
    figures.retain(|figure| figure.program > 0.0 && figure.workload.is_finite());
    Some(Likeness {
        bs,
        share: ios_at(main, bs) as f64 / pattern.ios as f64,
        by: MethodName(cell.method.clone()),
        figures,
    })
}

/// The largest factor at which a figure counts as alike. With think time the rate covers all of the
/// submitters' time, so it lacks nothing, and the I/Os in flight are measured.
fn max_ratio(layer: Layer, figure: LikenedFigure, thinks: bool) -> f64 {
    match figure {
        LikenedFigure::Iops if layer == Layer::Block && !thinks => MAX_WIDE_RATIO,
        LikenedFigure::InFlight if thinks => MAX_RATIO,
        LikenedFigure::Iops | LikenedFigure::LatencyP50 => MAX_RATIO,
        LikenedFigure::LatencyP99 => MAX_WIDE_RATIO,
        LikenedFigure::Size | LikenedFigure::InFlight => MAX_SET_RATIO,
    }
}

/// The workload's I/Os in flight of the foreground's direction. Without think time the workload was
/// set to them; else they follow from the jobs' rate and mean latency (Little's law).
fn in_flight(copied: &CopiedWorkload, cell: &Cell) -> f64 {
    let is_same_way = |job: &&CopiedBackground| job.direction == copied.direction;
    let background = copied.background.iter().filter(is_same_way);
    let background: u32 = background.map(|job| u32::from(job.depth)).sum();
    let measured = &cell.measured;
    let jobs = match copied.think_ns {
        Some(_) => measured.rates.iops.median * measured.latencies.mean_ns.median / 1e9,
        None => f64::from(copied.jobs),
    };
    jobs + f64::from(background)
}

/// The program's I/Os that a block size represents.
struct ProgramFigures<'a> {
    pattern: &'a ProgramPattern,
    main: &'a KindOfIo,
    bs: Bytes,
    think_ns: Option<f64>,
}

impl ProgramFigures<'_> {
    /// Mean size of all I/Os of this direction with a known size, bytes.
    fn mean_size(&self) -> f64 {
        let known = || self.main.sizes.iter();
        let bytes: f64 = known().map(|s| s.bytes.0 as f64 * s.ios as f64).sum();
        let ios: u64 = known().map(|s| s.ios).sum();
        bytes / ios as f64
    }

    /// Mean I/Os in flight while any was. With think time: the mean over all of the submitters'
    /// time, for at least one submitter.
    fn in_flight(&self) -> f64 {
        match self.think_ns {
            Some(_) => self.submitters().max(1.0) * self.pattern.lane_busy,
            None => self.main.in_flight.mean,
        }
    }

    fn submitters(&self) -> f64 {
        submitters(self.pattern, self.main, self.think_ns)
    }

    /// I/Os per second of the program, scaled to as many I/Os in flight as there are `jobs`. With
    /// think time it is scaled to as many submitters, over all of their time.
    fn iops(&self, jobs: u32) -> Option<f64> {
        let (ios, jobs) = (self.main.ios as f64, f64::from(jobs));
        let iops = match self.think_ns {
            Some(_) => ios / self.pattern.seconds * jobs / self.submitters(),
            None => {
                let in_flight = self.main.in_flight;
                ios / in_flight.busy_seconds * (jobs / in_flight.mean).min(1.0)
            }
        };
        iops.is_finite().then_some(iops)
    }

    /// The latencies of the most frequent size that the block size represents.
    fn latency(&self) -> Option<IoLatency> {
        let mut sizes = self.main.sizes.iter();
        let has_size = |size: &&SizeOfIo| to_block_size(size.bytes) == self.bs;
        sizes.find(has_size).map(|size| size.latency)
    }
}
