//! The plan of a run: its axes, and the points of the axes that exist on this machine.

use super::interface::Interface;
use super::media::Media;
use super::way::{Abilities, Way};
use q2c_engine::Pattern;
use q2c_model::Bytes;
use q2c_policy::Method;
use q2c_result::bench::{BenchPoint, LeftOut};
use serde::{Deserialize, Serialize};

/// The plan of a run in the form of its `plan.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchSpec {
    /// Path of a file or device, or a simulated device.
    pub target: String,
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
}

/// A point that exists, as a cell of the plan.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spot {
    pub point: BenchPoint,
    pub way: Way,
    pub pattern: Pattern,
    /// Where the I/O goes when it does not go through the target's block device, in words.
    pub detour: Option<String>,
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
        let refused = absent.or_else(|| outside_refuses(spec, &interface, &point));
        let way = match refused {
            Some(reason) => Err(reason),
            None => Way::of(&interface, &point.method, point.depth, can),
        };
        match way {
            Ok(way) => spots.push(Spot {
                point,
                way,
                pattern,
                detour: media.detour(&interface),
            }),
            Err(reason) => left_out.push(LeftOut { point, reason }),
        }
    }
    Ok((spots, left_out))
}

/// Why SPDK's program cannot run a point; `None` where it can, and for all other interfaces.
fn outside_refuses(spec: &BenchSpec, interface: &Interface, point: &BenchPoint) -> Option<String> {
    if *interface != Interface::Spdk {
        return None;
    }
    let cpus = spec.cpus.len();
    match () {
        () if spec.rate.is_some() => {
            Some("spdk_nvme_perf has no open loop: leave --rate out".to_owned())
        }
        () if point.jobs as usize > cpus => Some(format!(
            "spdk runs one thread on each CPU: {} jobs need as many, and there are {cpus}",
            point.jobs
        )),
        () => None,
    }
}

fn points(spec: &BenchSpec) -> Vec<BenchPoint> {
    if !spec.points.is_empty() {
        return spec.points.clone();
    }
    let axes = Axes {
        engines: spec.engines.clone(),
        methods: spec.methods.clone(),
        jobs: spec.jobs.clone(),
        depths: spec.depths.clone(),
        sizes: spec.sizes.clone(),
        patterns: spec.patterns.clone(),
    };
    axes.points()
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
}

impl Axes {
    /// Every point of the axes, in the order of jobs within methods within interfaces.
    pub fn points(&self) -> Vec<BenchPoint> {
        let mut points = Vec::new();
        for (rw, bs, depth) in self.outer() {
            for engine in &self.engines {
                for method in &self.methods {
                    points.extend(self.jobs.iter().map(|&jobs| BenchPoint {
                        engine: engine.clone(),
                        method: method.clone(),
                        jobs,
                        depth,
                        bs,
                        rw: rw.clone(),
                    }));
                }
            }
        }
        points
    }

    fn outer(&self) -> impl Iterator<Item = (String, Bytes, u16)> {
        self.patterns.iter().flat_map(move |rw| {
            self.sizes.iter().flat_map(move |&bs| {
                self.depths
                    .iter()
                    .map(move |&depth| (rw.clone(), bs, depth))
            })
        })
    }
}
