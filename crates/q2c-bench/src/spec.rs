//! The axes of a run, and their points that can run on this machine.

use super::abilities::MethodPath;
use crate::{Abilities, BenchSettings, Interface, Media};
use clap::Args;
use itertools::iproduct;
use q2c_engine::{Activity, EngineSpec, Pattern};
use q2c_model::{Bytes, List, distinct, parse_counts, parse_names, parse_numbers, parse_size};
use q2c_policy::{Method, ParseMethodError};
use q2c_result::bench::{BenchPoint, LeftOutPoint};
use q2c_run::run_dir::PlanFault;
use q2c_workbench::polling::too_large;
use q2c_workbench::workload::{Background, BackgroundSpec};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Most points of a run. One trial of each of them takes a day and a half.
const MAX_POINTS: usize = 100_000;

impl BenchSettings {
    /// Checks that the axes do not make more points than any run can measure.
    pub fn check_number_of_points(&self) -> Result<(), String> {
        let points = match self.points.len() {
            0 => self.axes.number_of_points(),
            named => named,
        };
        if points <= MAX_POINTS {
            return Ok(());
        }
        Err(format!(
            "bench: expected up to {MAX_POINTS} points, found {points}; leave out values of an axis"
        ))
    }
}

/// A cell of the plan. It has several points if it has several phases, which differ in background.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PointSetup {
    /// The point of the first phase.
    pub point: BenchPoint,
    /// The background of each phase of a trial, at least one.
    pub phases: Vec<BackgroundPhase>,
    pub path: MethodPath,
    /// The engine of background jobs that name none. All background jobs take its path: that of the
    /// interface's polling methods, whatever the point's method.
    pub background_engine: EngineSpec,
    pub pattern: Pattern,
    pub detour: Option<String>,
}

/// A phase of a trial: the time in which one background runs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BackgroundPhase {
    /// The background as requested; empty without a background.
    pub text: String,
    pub background: Background,
}

impl BackgroundPhase {
    fn parse(text: &str) -> Result<Self, String> {
        let background = match text {
            "" => Background::default(),
            jobs => jobs.parse().map_err(|e| format!("{e}"))?,
        };
        let text = text.to_owned();
        Ok(BackgroundPhase { text, background })
    }
}

impl PointSetup {
    pub(crate) fn points(&self) -> impl Iterator<Item = BenchPoint> {
        self.phases.iter().map(|phase| BenchPoint {
            background: phase.text.clone(),
            ..self.point.clone()
        })
    }
}

/// All points that can run here, in the order of the plan; then the others, with their reasons.
pub(super) fn setups(
    spec: &BenchSettings,
    abilities: Abilities,
    media: &Media,
) -> Result<(Vec<PointSetup>, Vec<LeftOutPoint>), String> {
    let (mut setups, mut left_out) = (Vec::new(), Vec::new());
    for point in points(spec) {
        let interface: Interface = point.engine.parse()?;
        let pattern: Pattern = point.rw.parse().map_err(|e| format!("{e}"))?;
        let phases = phases(spec, &point)?;
        let base = interface.engine().unwrap_or(&EngineSpec::IO_URING);
        let background_engine = base.clone().with_path(abilities.can_poll_with(base));
        let refused = media.absence(&interface);
        let refused = refused.or_else(|| spdk_refusal(spec, &interface, &point, &phases));
        let refused = refused.or_else(|| flush_refusal(&interface, pattern, point.depth));
        let refused =
            refused.or_else(|| background_refusal(&background_engine, &phases, media, abilities));
        let path = || {
            let path = MethodPath::resolve(&interface, &point.method, point.depth, abilities)?;
            let engine = path.interface.engine();
            match engine.and_then(|engine| too_large(engine, point.bs, abilities.unsplit)) {
                Some(reason) => Err(reason),
                None => Ok(path),
            }
        };
        match refused.map_or_else(path, Err) {
            Ok(path) => setups.push(PointSetup {
                point,
                phases,
                path,
                background_engine,
                pattern,
                detour: media.detour(&interface),
            }),
            Err(reason) => left_out.push(LeftOutPoint { point, reason }),
        }
    }
    Ok((setups, left_out))
}

/// Why SPDK's program cannot run a point; `None` if it can, and for all other interfaces.
fn spdk_refusal(
    spec: &BenchSettings,
    interface: &Interface,
    point: &BenchPoint,
    phases: &[BackgroundPhase],
) -> Option<String> {
    if *interface != Interface::Spdk {
        return None;
    }
    let cpus = spec.cpus.len();
    match () {
        () if spec.rate.is_some() => {
            Some("spdk_nvme_perf has no open loop: leave --rate out".to_owned())
        }
        () if phases.iter().any(|phase| !phase.background.0.is_empty()) => {
            Some("spdk_nvme_perf has its controller alone: nothing can run beside it".to_owned())
        }
        () if point.jobs as usize > cpus => Some(format!(
            "spdk runs one thread on each CPU: {} jobs need as many, and there are {cpus}",
            point.jobs
        )),
        () => None,
    }
}

/// Why a pattern that flushes cannot run so; `None` if it can.
fn flush_refusal(interface: &Interface, pattern: Pattern, depth: u16) -> Option<String> {
    pattern.fdatasync?;
    match () {
        () if *interface == Interface::Spdk => {
            Some("spdk_nvme_perf does not flush: leave fdatasync out".to_owned())
        }
        () if depth > 1 => Some(
            "fdatasync after a write needs one request in flight: depth 1, and more jobs instead"
                .to_owned(),
        ),
        () => None,
    }
}

fn phases(spec: &BenchSettings, point: &BenchPoint) -> Result<Vec<BackgroundPhase>, String> {
    if !spec.phases {
        return BackgroundPhase::parse(&point.background).map(|phase| vec![phase]);
    }
    let backgrounds = spec.axes.backgrounds();
    let phases = backgrounds.iter().map(|text| BackgroundPhase::parse(text));
    phases.collect()
}

fn background_refusal(
    background_engine: &EngineSpec,
    phases: &[BackgroundPhase],
    media: &Media,
    abilities: Abilities,
) -> Option<String> {
    let jobs = phases.iter().flat_map(|phase| &phase.background.0);
    let refusal = |job: &BackgroundSpec| {
        let engine = Interface::Engine(job.engine_beside(background_engine));
        let helper = || {
            let reason = "its kernel thread cannot be told from those of the measured jobs";
            engine.has_helper().then(|| reason.to_owned())
        };
        let depth = || match job.activity() {
            Activity::Start(wait) => engine.engine()?.refuses(job.depth, &wait),
            _ => None,
        };
        let size = || too_large(engine.engine()?, job.bs, abilities.unsplit);
        let refused = media.absence(&engine).or_else(helper).or_else(depth);
        let reason = refused.or_else(size)?;
        let text = format!("background {job} cannot run here by {engine}: {reason}");
        Some(text)
    };
    jobs.into_iter().find_map(refusal)
}

fn points(spec: &BenchSettings) -> Vec<BenchPoint> {
    let mut points = if spec.points.is_empty() {
        spec.axes.points()
    } else {
        spec.points.clone()
    };
    // With phases, the point of the first background stands for the points of all backgrounds.
    let first = &spec.axes.backgrounds()[0];
    points.retain(|point| !spec.phases || point.background == *first);
    let tuned = tuned_points(spec, &points);
    points.extend(tuned);
    points
}

/// For each point, a point with the method recommended for its block size and jobs, if new.
fn tuned_points(spec: &BenchSettings, all: &[BenchPoint]) -> Vec<BenchPoint> {
    let tuned = all.iter().filter_map(|point| {
        let method = spec.recommended.as_ref()?.method(point.bs, point.jobs)?;
        Some(BenchPoint {
            method: method.clone(),
            ..point.clone()
        })
    });
    distinct(tuned.filter(|tuned| !all.contains(tuned)))
}

pub(super) const JOBS: RangeInclusive<u32> = 1..=1024;
pub(super) const DEPTHS: RangeInclusive<u16> = 1..=1024;
/// Range of the hardware queues and of the requests per queue.
const SETTINGS: RangeInclusive<u32> = 1..=65_536;
pub(super) const SIZES: RangeInclusive<Bytes> = Bytes(1)..=Bytes(u64::MAX);

/// The axes, which make points together.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
pub struct Axes {
    /// Interfaces, separated by commas: io_uring, libaio, pvsync2, io_uring_cmd (NVMe commands),
    /// spdk (spdk_nvme_perf) [default: io_uring,libaio,pvsync2; on /dev/ng0n1 io_uring_cmd, on a
    /// PCI address spdk]
    #[arg(short = 'e', long, value_name = "LIST", value_parser = interfaces)]
    pub engine: Option<List<String>>,
    /// Methods, separated by commas: interrupt, poll, sqpoll, sqpoll-iopoll, hybrid-uring,
    /// hybrid-kernel, hybrid:RULE [default: interrupt,poll]
    #[arg(short = 'm', long, value_name = "LIST", value_parser = methods)]
    #[arg(default_value = "interrupt,poll", hide_default_value = true)]
    pub method: List<Method>,
    /// Numbers of threads: 1,2,4 or 1..8 or 5..120/5, which is every fifth [default: 1]
    #[arg(short = 'j', long, value_name = "LIST", value_parser = parse_counts::<u32>)]
    #[arg(default_value = "1", hide_default_value = true)]
    pub jobs: List<u32>,
    /// Requests in flight of each thread [default: 1]
    #[arg(short = 'd', long, value_name = "LIST", value_parser = parse_counts::<u16>)]
    #[arg(default_value = "1", hide_default_value = true)]
    pub depth: List<u16>,
    /// Hardware queues of the device, for null_blk and ramdisk_mq; put back after each trial (needs
    /// root)
    #[arg(long, value_name = "LIST", value_parser = parse_numbers)]
    pub hw_queues: Option<List<u32>>,
    /// Requests of each hardware queue (queue/nr_requests); put back after each trial (needs root)
    #[arg(long, value_name = "LIST", value_parser = parse_numbers)]
    pub nr_requests: Option<List<u32>>,
    /// Block sizes [default: 4k]
    #[arg(short = 'b', long, value_name = "LIST", value_delimiter = ',', value_parser = parse_size)]
    #[arg(default_value = "4k", hide_default_value = true)]
    pub bs: Vec<Bytes>,
    /// Patterns: randread, randwrite, read, write, or mixes such as randrw:70 (70 % reads), rw:50;
    /// with :zipf=1.1 for hot blocks, :fdatasync=1 for a flush after each write [default: randread]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[arg(default_value = "randread")]
    #[arg(hide_default_value = true)]
    pub rw: Vec<Pattern>,
    /// Background jobs beside the points, such as rw=randread,bs=32k,depth=4,jobs=2,cpus=1, or
    /// none; several that run at once are joined by `;`, and given again it is a further value of
    /// the axis
    #[arg(long, value_name = "JOBS")]
    pub background: Vec<Background>,
}

/// Parses interfaces, and returns each as its name in results.
fn interfaces(text: &str) -> Result<List<String>, String> {
    let interfaces: List<Interface> = parse_names(text, Interface::begins)?;
    Ok(interfaces.iter().map(ToString::to_string).collect())
}

fn methods(text: &str) -> Result<List<Method>, String> {
    parse_names(text, Method::begins).map_err(|error: ParseMethodError| error.to_string())
}

impl Axes {
    /// The names of the interfaces; empty until they are settled.
    pub fn engines(&self) -> &[String] {
        self.engine.as_deref().unwrap_or_default()
    }

    pub(super) fn distinct_backgrounds(&self) -> Vec<Background> {
        distinct(self.background.iter().cloned())
    }

    /// The backgrounds in the form that points hold; the empty text means no background.
    fn backgrounds(&self) -> Vec<String> {
        let text = |jobs: &Background| {
            let text = (!jobs.0.is_empty()).then(|| jobs.to_string());
            text.unwrap_or_default()
        };
        let values = self.distinct_backgrounds();
        let mut texts: Vec<String> = values.iter().map(text).collect();
        if texts.is_empty() {
            texts.push(String::new());
        }
        texts
    }

    pub(super) fn check(&self) -> Result<(), PlanFault> {
        PlanFault::check_not_empty("engine", self.engines())?;
        PlanFault::check_not_empty("method", &self.method)?;
        PlanFault::check_not_empty("rw", &self.rw)?;
        PlanFault::check_ranges("jobs", &self.jobs, &JOBS)?;
        PlanFault::check_ranges("depth", &self.depth, &DEPTHS)?;
        PlanFault::check_ranges("bs", &self.bs, &SIZES)?;
        let (queues, requests) = (&self.hw_queues, &self.nr_requests);
        for (field, values) in [("hw_queues", queues), ("nr_requests", requests)] {
            let values = values.as_deref().unwrap_or_default();
            for value in values {
                PlanFault::check_range(field, value, SETTINGS)?;
            }
            PlanFault::check_unique(field, values)?;
        }
        PlanFault::check_unique("engine", self.engines())?;
        PlanFault::check_unique("method", &self.method)?;
        PlanFault::check_unique("jobs", &self.jobs)?;
        PlanFault::check_unique("depth", &self.depth)?;
        PlanFault::check_unique("bs", &self.bs)?;
        PlanFault::check_unique("rw", &self.rw)?;
        PlanFault::check_unique("background", &self.background)?;
        for engine in self.engines() {
            PlanFault::parse::<Interface>("engine", engine)?;
        }
        Ok(())
    }

    fn number_of_points(&self) -> usize {
        let count = |values: &Option<List<u32>>| values.as_ref().map_or(1, Vec::len);
        let of_device = [count(&self.hw_queues), count(&self.nr_requests)];
        let of_ios = [self.rw.len(), self.bs.len(), self.depth.len()];
        let of_jobs = [self.engines().len(), self.method.len(), self.jobs.len()];
        let lengths = of_device.into_iter().chain(of_ios).chain(of_jobs);
        lengths.fold(self.backgrounds().len(), usize::saturating_mul)
    }

    /// The points in the plan's order: jobs vary fastest, the settings of the device slowest.
    pub(crate) fn points(&self) -> Vec<BenchPoint> {
        // `None` keeps the device's present setting.
        let values = |setting: &Option<List<u32>>| match setting {
            Some(values) => values.iter().copied().map(Some).collect(),
            None => vec![None],
        };
        let backgrounds = self.backgrounds();
        let of_device = iproduct!(values(&self.hw_queues), values(&self.nr_requests));
        let of_ios = iproduct!(&self.rw, &self.bs, &self.depth, &backgrounds);
        let of_jobs = iproduct!(self.engines(), &self.method, &self.jobs);
        let points = iproduct!(of_device, of_ios, of_jobs);
        let points = points.map(|((hw_queues, nr_requests), ios, (engine, method, &jobs))| {
            let (rw, &bs, &depth, background) = ios;
            BenchPoint {
                engine: engine.clone(),
                method: method.clone(),
                jobs,
                depth,
                bs,
                rw: rw.to_string(),
                background: background.clone(),
                hw_queues,
                nr_requests,
            }
        });
        points.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checked::tests::settings;
    use q2c_engine::Medium;

    /// The device takes up to 64 KiB as one request, and the points read 128 KiB.
    #[test]
    fn points_that_would_poll_for_split_requests_are_left_out() {
        let abilities = Abilities {
            polled_requests: true,
            unsplit: Some(Bytes(64 << 10)),
            ..Abilities::default()
        };
        let large = |engine: &str, background: &str| {
            settings(&format!("d -e {engine} -b 128k --background {background}"))
        };
        let exist = |engine: &str, background: &str| {
            let media = Media::without_nvme(Medium::None);
            let (setups, left_out) = setups(&large(engine, background), abilities, &media).unwrap();
            let reasons = left_out.iter().map(|left| left.reason.clone());
            (setups.len(), reasons.collect::<Vec<_>>())
        };
        let (there, reasons) = exist("io_uring", "none");
        assert_eq!(there, 1);
        assert!(reasons[0].contains("larger than 64 KiB"), "{reasons:?}");
        assert_eq!(exist("io_uring:ring", "none").0, 2);
        assert_eq!(exist("io_uring:ring", "bs=1m,cpus=0").0, 2);
        let (there, reasons) = exist("io_uring:ring", "engine=io_uring:iopoll,bs=1m,cpus=0");
        assert_eq!(there, 0);
        assert!(reasons[0].contains("1 MiB"), "{reasons:?}");
    }

    #[test]
    fn commas_within_names_stay_there() {
        let methods = methods("interrupt,hybrid:min:70%,10ms,poll").unwrap();
        let texts: Vec<String> = methods.iter().map(ToString::to_string).collect();
        let wanted = ["interrupt", "hybrid:min:ratio=70%,period=10ms", "poll"];
        assert_eq!(texts, wanted);
        let engines = interfaces("io_uring:sqpoll,cpu=1,libaio,spdk,io_uring_cmd").unwrap();
        let wanted = ["io_uring:sqpoll,cpu=1", "libaio", "spdk", "io_uring_cmd"];
        assert_eq!(engines, wanted);
        let often = super::methods("interrupt,often").unwrap_err();
        assert!(often.contains("often"));
    }
}
