//! Fits a machine to measured points.
//!
//! Each part of the machine is fitted to the stage that shows it. The rest of an I/O's time is a
//! delay of the measured length:
//!
//! - the device to D2C: its service time from points without waits, the number of requests served
//!   at once from the growth of D2C with the requests in the device;
//! - a lock or a cache line to the stage between Q and D that grows most;
//! - tags: they are facts of the device, and not fitted;
//! - the rest to the throughput.

mod device;
mod shared;

pub(crate) use shared::ContentionKind;

use crate::evidence::{CurveEvidence, EvidenceRow, StageNoise};
use crate::machine::MachineModel;
use q2c_model::stats::{median, sorted};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Structure {
    pub device: bool,
    pub shared: Option<(String, ContentionKind)>,
}

#[derive(Clone, Debug)]
pub(crate) struct MachineFit {
    pub machine: MachineModel,
    pub noise: StageNoise,
}

impl Structure {
    pub(crate) fn from_evidence(evidence: &CurveEvidence) -> Structure {
        Structure {
            device: device::is_limited(evidence),
            shared: shared::find(evidence),
        }
    }

    pub(crate) fn stage(&self) -> Option<&str> {
        self.shared.as_ref().map(|(stage, _)| stage.as_str())
    }

    /// The limits that noise could hide if the points show none.
    pub(crate) fn hidden(evidence: &CurveEvidence) -> Structure {
        let stage = shared::growing_stage(evidence);
        Structure {
            device: true,
            shared: stage.map(|stage| (stage.to_owned(), ContentionKind::Lock)),
        }
    }

    pub(crate) fn has_limit(&self) -> bool {
        self.device || self.shared.is_some()
    }
}

/// Fits a machine of this structure to `rows`, which are those of `evidence` or drawn from it. The
/// search starts at `start`, the fit of similar rows.
pub(crate) fn fit(
    evidence: &CurveEvidence,
    rows: &[EvidenceRow],
    structure: &Structure,
    start: Option<&MachineModel>,
) -> MachineFit {
    let (device, d2c) = if structure.device {
        device::fit(evidence, rows)
    } else {
        device::fit_unlimited(evidence, rows)
    };
    let (mut lock, mut line_ns, mut noise) = (None, 0.0, 0.0);
    match &structure.shared {
        Some((stage, ContentionKind::Lock)) => {
            let start = start.and_then(|machine| machine.lock);
            let fitted = shared::fit_lock(rows, evidence.deviation_ns(stage), start);
            (lock, noise) = (Some(fitted.lock).filter(|l| l.hold_ns > 0.0), fitted.error);
        }
        Some((_, ContentionKind::CacheLine)) => (line_ns, noise) = shared::fit_line(rows),
        None => {}
    }
    let first = &rows[0];
    let shared_ns = lock.map_or(0.0, |lock| lock.hold_ns) + line_ns * f64::from(first.jobs - 1);
    let machine = MachineModel {
        depth: evidence.depth,
        cores: u32::MAX,
        cpu_ns: (first.cpu_ns - shared_ns).max(1.0),
        rest_ns: 0.0,
        line_ns,
        lock,
        tags: evidence.tags,
        device,
    };
    MachineFit {
        machine: with_rest(&machine, rows),
        noise: StageNoise {
            d2c: d2c.max(MIN_NOISE),
            shared: f64::max(noise, MIN_NOISE),
        },
    }
}

/// Least noise of a stage, as a share, even if a fit claims less.
const MIN_NOISE: f64 = 0.003;

const HALVINGS: u32 = 20;

/// Sets the rest of an I/O's time such that the throughput fits, as the median over the points. If
/// points are faster even without a rest, shortens the time on the core instead: that of a polling
/// job contains the device's time.
fn with_rest(machine: &MachineModel, rows: &[EvidenceRow]) -> MachineModel {
    let solve = |set: &dyn Fn(f64) -> MachineModel, max: f64| {
        let solutions = rows.iter().map(|row| {
            let (mut low, mut high) = (0.0, max);
            for _ in 0..HALVINGS {
                let middle = (low + high) / 2.0;
                if set(middle).iops(row.jobs) > row.per_ns * 1e9 {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            (low + high) / 2.0
        });
        median(&sorted(&solutions.collect::<Vec<_>>()))
    };
    let longest = rows.iter().map(|row| f64::from(row.jobs) / row.per_ns);
    let longest = longest.fold(0.0, f64::max) * f64::from(machine.depth);
    let rest = |rest_ns| MachineModel {
        rest_ns,
        ..machine.clone()
    };
    let cpu = |cpu_ns| MachineModel {
        cpu_ns,
        ..machine.clone()
    };
    let rest_ns = solve(&rest, longest);
    if rest_ns > 1e-5 * longest {
        rest(rest_ns)
    } else {
        cpu(solve(&cpu, 2.0 * machine.cpu_ns))
    }
}

/// Decrease of the sum of squares by one more parameter / variance of `n` points around the fit.
fn gain(mean_squares: f64, fit_squares: f64, n: usize, parameters: usize) -> f64 {
    let variance = fit_squares.max(1e-12) / n.saturating_sub(parameters).max(1) as f64;
    (mean_squares - fit_squares) / variance
}

/// Least [`gain`] that proves growth. From six points on, chance gives it in less than 2 % of cases
/// (F distribution).
const MIN_GAIN: f64 = 12.0;

fn deviation(squares: f64, n: usize, parameters: usize) -> f64 {
    (squares / n.saturating_sub(parameters).max(1) as f64).sqrt()
}
