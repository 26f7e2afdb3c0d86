//! The plan of a run: its axes, and the points of the axes that exist on this machine.

use super::interface::Interface;
use super::media::Media;
use super::way::{Abilities, Way};
use q2c_engine::{Activity, EngineSpec, Pattern, SimMachine};
use q2c_model::Bytes;
use q2c_policy::Method;
use q2c_result::bench::{BenchPoint, LeftOut, Tuned};
use q2c_workbench::polling::too_large;
use q2c_workbench::workload::{Background, BackgroundSpec};
use serde::{Deserialize, Serialize};

/// The plan of a run in the form of its `plan.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchSpec {
    /// Path of a file or device, or a simulated device.
    pub target: String,
    /// Whether the target is a scratch file that q2c made for this run.
    #[serde(default)]
    pub scratch: bool,
    /// Interfaces.
    pub engines: Vec<String>,
    /// Completion methods.
    pub methods: Vec<Method>,
    /// Numbers of jobs.
    pub jobs: Vec<u32>,
    /// Depths: requests in flight in each job.
    pub depths: Vec<u16>,
    /// Block sizes.
    pub sizes: Vec<Bytes>,
    /// Patterns of access, such as `randread`.
    pub patterns: Vec<String>,
    /// Hardware queues of the device; empty for those that it has.
    #[serde(default)]
    pub hw_queues: Vec<u32>,
    /// `nr_requests` of the device; empty for what it has.
    #[serde(default)]
    pub nr_requests: Vec<u32>,
    /// Length of the measured part of a trial, seconds.
    pub seconds: f64,
    /// Most length of the warm-up, seconds.
    pub warm_up_seconds: f64,
    /// Trials per point.
    pub trials: u32,
    /// A point gets more trials until the interval of its median is narrower than this share of the
    /// median; `None` for no more trials.
    pub precision: Option<f64>,
    /// CPUs in the order in which jobs take them.
    pub cpus: Vec<u32>,
    /// The order of the CPUs in words.
    pub cpu_order: String,
    /// Submissions of each job per second (open loop); `None` for a closed loop.
    pub rate: Option<f64>,
    /// IOPS that the device's vendor states.
    pub rating: Option<f64>,
    /// Time for all trials, seconds; `None` for no limit.
    pub budget_s: Option<f64>,
    /// Seed of offsets and of the order of trials.
    pub seed: u64,
    /// Part of the target in use, from its start; `None` for all of it.
    #[serde(default)]
    pub span: Option<Bytes>,
    /// The points, when they are fewer than the axes make together; empty when they are all.
    #[serde(default)]
    pub points: Vec<BenchPoint>,
    /// Background jobs, as the text of [`Background`]; empty for a point without them.
    #[serde(default = "no_background")]
    pub backgrounds: Vec<String>,
    /// Whether the backgrounds are phases of one trial, through which the jobs run on.
    #[serde(default)]
    pub phases: bool,
    /// The methods of a run of `q2c tune`, which are points beside those of `methods`.
    #[serde(default)]
    pub tuned: Option<Tuned>,
    /// Whether each point gets a run with the block layer captured, after all trials.
    #[serde(default)]
    pub stages: bool,
    /// The machine on which a simulated target is measured; `None` for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<SimMachine>,
}

/// Most points of a run: a trial of each of them takes a day and a half.
const MOST_POINTS: usize = 100_000;

impl BenchSpec {
    /// Checks that the axes do not make more points than any run can measure.
    ///
    /// # Errors
    /// The number of points, and what to do.
    pub fn check_number_of_points(&self) -> Result<(), String> {
        let lengths = [
            self.engines.len(),
            self.methods.len(),
            self.jobs.len(),
            self.depths.len(),
            self.sizes.len(),
            self.patterns.len(),
            self.backgrounds.len(),
            self.hw_queues.len().max(1),
            self.nr_requests.len().max(1),
        ];
        let axes = lengths.into_iter().fold(1, usize::saturating_mul);
        let points = match self.points.len() {
            0 => axes,
            named => named,
        };
        match points > MOST_POINTS {
            true => Err(format!(
                "bench: expected up to {MOST_POINTS} points, found {points}; leave out values of an axis"
            )),
            false => Ok(()),
        }
    }
}

fn no_background() -> Vec<String> {
    vec![String::new()]
}

/// A point that exists, as a cell of the plan. With several phases it is several points, which
/// differ in their background.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spot {
    /// The point of the first phase.
    pub point: BenchPoint,
    /// The background of each phase of a trial, at least one.
    pub phases: Vec<Phase>,
    pub way: Way,
    /// The engine whose path background jobs take, and which those have that name none: the
    /// interface as it was asked for, on the path of its polling methods. It is the same for all
    /// methods, so that they have the same background. The way's own engine may be a ring that
    /// polls by itself.
    pub beside: EngineSpec,
    pub pattern: Pattern,
    /// Where the I/O goes when it does not go through the target's block device, in words.
    pub detour: Option<String>,
}

/// A phase of a trial: the time in which one background runs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Phase {
    /// The background as asked; empty for none.
    pub text: String,
    pub background: Background,
}

impl Phase {
    fn of(text: &str) -> Result<Self, String> {
        let background = match text {
            "" => Ok(Background::default()),
            jobs => jobs.parse(),
        };
        Ok(Phase {
            text: text.to_owned(),
            background: background.map_err(|e| format!("{e}"))?,
        })
    }
}

impl Spot {
    /// The point of each phase.
    pub fn points(&self) -> impl Iterator<Item = BenchPoint> {
        self.phases.iter().map(|phase| BenchPoint {
            background: phase.text.clone(),
            ..self.point.clone()
        })
    }
}

/// Returns all points that exist here, in the order of the plan, and the points that do not exist,
/// with their reasons.
///
/// # Errors
/// A name on an axis is not known.
pub(super) fn spots(
    spec: &BenchSpec,
    can: Abilities,
    media: &Media,
) -> Result<(Vec<Spot>, Vec<LeftOut>), String> {
    let (mut spots, mut left_out) = (Vec::new(), Vec::new());
    for point in points(spec) {
        let interface: Interface = point.engine.parse()?;
        let pattern: Pattern = point.rw.parse().map_err(|e| format!("{e}"))?;
        let absent = media.absent(&interface);
        let phases = phases(spec, &point)?;
        let asked = interface.engine().unwrap_or(&EngineSpec::IO_URING);
        let beside = can.settled(asked);
        let refused = absent
            .or_else(|| outside_refuses(spec, &interface, &point, &phases))
            .or_else(|| background_refused(&beside, &phases, media, can));
        let way = match refused {
            Some(reason) => Err(reason),
            None => Way::of(&interface, &point.method, point.depth, can)
                .and_then(|way| unless_too_large(way, point.bs, can)),
        };
        match way {
            Ok(way) => spots.push(Spot {
                point,
                phases,
                way,
                beside,
                pattern,
                detour: media.detour(&interface),
            }),
            Err(reason) => left_out.push(LeftOut { point, reason }),
        }
    }
    Ok((spots, left_out))
}

/// The way, unless it polls for requests that the block layer may split.
fn unless_too_large(way: Way, bs: Bytes, can: Abilities) -> Result<Way, String> {
    let engine = way.interface.engine();
    match engine.and_then(|engine| too_large(engine, bs, can.unsplit)) {
        Some(why) => Err(why),
        None => Ok(way),
    }
}

/// Why SPDK's program cannot run a point; `None` where it can, and for all other interfaces.
fn outside_refuses(
    spec: &BenchSpec,
    interface: &Interface,
    point: &BenchPoint,
    phases: &[Phase],
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

/// The phases of a trial of `point`.
fn phases(spec: &BenchSpec, point: &BenchPoint) -> Result<Vec<Phase>, String> {
    match spec.phases {
        true => spec
            .backgrounds
            .iter()
            .map(|text| Phase::of(text))
            .collect(),
        false => Phase::of(&point.background).map(|phase| vec![phase]),
    }
}

/// Why background jobs cannot run beside the engine `beside`; `None` where they can.
fn background_refused(
    beside: &EngineSpec,
    phases: &[Phase],
    media: &Media,
    can: Abilities,
) -> Option<String> {
    let jobs = phases.iter().flat_map(|phase| &phase.background.0);
    let refused = |job: &BackgroundSpec| {
        let engine = Interface::Engine(job.engine_beside(beside));
        let helper = || {
            engine.has_helper().then(|| {
                "its kernel thread cannot be told from those of the measured jobs".to_owned()
            })
        };
        let depth = || {
            let Activity::Start(wait) = job.at_work() else {
                return None;
            };
            engine.engine()?.refuses(job.depth, &wait)
        };
        let size = || too_large(engine.engine()?, job.bs, can.unsplit);
        let refused = media.absent(&engine).or_else(helper).or_else(depth);
        let why = refused.or_else(size)?;
        Some(format!(
            "background {job} cannot run here by {engine}: {why}"
        ))
    };
    jobs.into_iter().find_map(refused)
}

fn points(spec: &BenchSpec) -> Vec<BenchPoint> {
    let mut all = match spec.points.is_empty() {
        true => axes(spec).points(),
        false => spec.points.clone(),
    };
    all.retain(|point| !spec.phases || point.background == spec.backgrounds[0]);
    let tuned = tuned_points(spec, &all);
    all.extend(tuned);
    all
}

/// The points of tuned methods: for each point one with the method of its block size and number of
/// jobs, where that is not a point already.
fn tuned_points(spec: &BenchSpec, all: &[BenchPoint]) -> Vec<BenchPoint> {
    let mut more: Vec<BenchPoint> = Vec::new();
    let methods = all
        .iter()
        .map(|point| spec.tuned.as_ref()?.method(point.bs, point.jobs));
    for (point, method) in all.iter().zip(methods) {
        let tuned = method.map(|method| BenchPoint {
            method: method.clone(),
            ..point.clone()
        });
        more.extend(tuned.filter(|tuned| !all.contains(tuned) && !more.contains(tuned)));
    }
    more
}

pub(super) fn axes(spec: &BenchSpec) -> Axes {
    Axes {
        engines: spec.engines.clone(),
        methods: spec.methods.clone(),
        jobs: spec.jobs.clone(),
        depths: spec.depths.clone(),
        sizes: spec.sizes.clone(),
        patterns: spec.patterns.clone(),
        backgrounds: spec.backgrounds.clone(),
        hw_queues: spec.hw_queues.clone(),
        nr_requests: spec.nr_requests.clone(),
    }
}

/// The axes, which make points together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Axes {
    pub engines: Vec<String>,
    pub methods: Vec<Method>,
    pub jobs: Vec<u32>,
    pub depths: Vec<u16>,
    pub sizes: Vec<Bytes>,
    pub patterns: Vec<String>,
    pub backgrounds: Vec<String>,
    /// Empty for the hardware queues that the device has.
    pub hw_queues: Vec<u32>,
    /// Empty for the requests that the device has.
    pub nr_requests: Vec<u32>,
}

impl Axes {
    /// Every point of the axes, in the order of jobs within methods within interfaces, within the
    /// settings of the device.
    pub fn points(&self) -> Vec<BenchPoint> {
        fn or_as_found(values: &[u32]) -> Vec<Option<u32>> {
            match values.is_empty() {
                true => vec![None],
                false => values.iter().copied().map(Some).collect(),
            }
        }
        let as_found = self.points_as_found();
        let mut points = Vec::new();
        for hw_queues in or_as_found(&self.hw_queues) {
            for nr_requests in or_as_found(&self.nr_requests) {
                points.extend(as_found.iter().cloned().map(|point| BenchPoint {
                    hw_queues,
                    nr_requests,
                    ..point
                }));
            }
        }
        points
    }

    fn points_as_found(&self) -> Vec<BenchPoint> {
        let mut points = Vec::new();
        for (rw, bs, depth, background) in self.outer() {
            for engine in &self.engines {
                for method in &self.methods {
                    points.extend(self.jobs.iter().map(|&jobs| BenchPoint {
                        engine: engine.clone(),
                        method: method.clone(),
                        jobs,
                        depth,
                        bs,
                        rw: rw.clone(),
                        background: background.clone(),
                        hw_queues: None,
                        nr_requests: None,
                    }));
                }
            }
        }
        points
    }

    fn outer(&self) -> impl Iterator<Item = (String, Bytes, u16, String)> {
        let sizes = self
            .patterns
            .iter()
            .flat_map(|rw| self.sizes.iter().map(move |&bs| (rw, bs)));
        let depths = sizes.flat_map(|(rw, bs)| {
            self.depths
                .iter()
                .map(move |&depth| (rw.clone(), bs, depth))
        });
        depths.flat_map(|(rw, bs, depth)| {
            let backgrounds = self.backgrounds.iter();
            backgrounds.map(move |background| (rw.clone(), bs, depth, background.clone()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spdk::tests::spec;
    use q2c_engine::Medium;

    /// The device takes 64 KiB as one request, and the points read 128 KiB.
    #[test]
    fn points_that_would_poll_for_split_requests_are_left_out() {
        let can = Abilities {
            polled_requests: true,
            unsplit: Some(Bytes(64 << 10)),
            ..Abilities::default()
        };
        let names = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let large = |engine: &str, background: &[&str]| BenchSpec {
            engines: names(&[engine]),
            sizes: vec![Bytes(128 << 10)],
            backgrounds: names(background),
            ..spec(&["interrupt", "poll"], &[1])
        };
        let exist = |engine, background: &[&str]| {
            let media = Media::plain(Medium::None);
            let (spots, left_out) = spots(&large(engine, background), can, &media).unwrap();
            let why = left_out.iter().map(|left| left.reason.clone());
            (spots.len(), why.collect::<Vec<_>>())
        };
        let (there, why) = exist("io_uring", &[""]);
        assert_eq!(there, 1);
        assert!(
            why[0].contains("requests of 128 KiB") && why[0].contains("larger than 64 KiB"),
            "{why:?}"
        );
        assert_eq!(exist("io_uring:ring", &[""]).0, 2);
        assert_eq!(exist("io_uring:ring", &["bs=1m,cpus=0"]).0, 2);
        let (there, why) = exist("io_uring:ring", &["engine=io_uring:iopoll,bs=1m,cpus=0"]);
        assert_eq!(there, 0);
        assert!(
            why[0].contains("background") && why[0].contains("1 MiB"),
            "{why:?}"
        );
    }
}
