//! What is to be run: axes, and the points that exist on them.

use super::interface::Interface;
use super::media::Media;
use super::way::{Abilities, Way};
use q2c_engine::Pattern;
use q2c_model::Bytes;
use q2c_policy::Method;
use q2c_result::bench::{BenchPoint, LeftOut};
use serde::{Deserialize, Serialize};

/// A run as `plan.toml` has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchSpec {
    /// Path, or a simulated device.
    pub target: String,
    /// Interfaces.
    pub engines: Vec<String>,
    /// Methods.
    pub methods: Vec<Method>,
    /// Numbers of jobs.
    pub jobs: Vec<u32>,
    /// Requests in flight of each.
    pub depths: Vec<u16>,
    /// Block sizes.
    pub sizes: Vec<Bytes>,
    /// Patterns.
    pub patterns: Vec<String>,
    /// Measured part of a trial.
    pub seconds: f64,
    /// Warm-up at most.
    pub warm_up_seconds: f64,
    /// Trials per point.
    pub trials: u32,
    /// More of them until a median's interval is narrower than this share of it.
    pub precision: Option<f64>,
    /// CPUs in the order in which jobs take them.
    pub cpus: Vec<u32>,
    /// That order in words.
    pub cpu_order: String,
    /// Submissions of each job per second (open loop).
    pub rate: Option<f64>,
    /// What the vendor says the device does.
    pub rating: Option<f64>,
    /// Time for all trials.
    pub budget_s: Option<f64>,
    /// Seed of offsets and of the order of trials.
    pub seed: u64,
    /// Part of the target in use, from its start; all of it without.
    #[serde(default)]
    pub span: Option<Bytes>,
    /// The points, where they are not all that the axes make together.
    #[serde(default)]
    pub points: Vec<BenchPoint>,
}

/// A point that exists, as a cell of the plan.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spot {
    pub point: BenchPoint,
    pub way: Way,
    pub pattern: Pattern,
    /// Where the I/O goes instead of the target's own way.
    pub detour: Option<String>,
}

/// All points of the axes, in the order of jobs within methods within interfaces; and those that do not exist.
///
/// # Errors
/// When a name on an axis is none.
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

/// What a program of its own cannot do.
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

/// What makes points together.
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
    /// Every point, jobs innermost.
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
