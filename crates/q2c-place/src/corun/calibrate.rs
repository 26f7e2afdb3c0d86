//! All pairs of tasks, measured in shuffled trials, and the simulator's table of speeds from them.

use crate::corun::pair::{PairMachine, Siblings};
use q2c_host::Roots;
use q2c_host::topology::Topology;
use q2c_model::stats::{Interval, Rng, mean, sorted};
use q2c_model::{CpuId, Exit, Fault, OrFault};
use q2c_result::corun::{Pair, Work};
use q2c_result::place::Speeds;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The least share of its speed that C must lose beside C in every trial; clock drift costs less.
const MIN_LOSS: f64 = 0.05;

/// The trials of a calibration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrationPlan {
    /// Trials of each pair.
    pub trials: u32,
    /// Length of a trial.
    pub trial: Duration,
    /// Seed of the order of the trials.
    pub seed: u64,
}

/// The last core with two logical CPUs that q2c may use: the kernel's own work is on the first.
///
/// # Errors
/// No core has two such CPUs, or the processor is emulated.
pub fn siblings(roots: &Roots, allowed: &[CpuId], trial: Duration) -> Result<Siblings, Fault> {
    let topology = Topology::read(roots);
    let pair = topology.cpus.iter().rev().find_map(|cpu| {
        let mut usable = cpu.siblings.iter().filter(|cpu| allowed.contains(cpu));
        Some((*usable.next()?, *usable.next()?))
    });
    let (own, other) = pair.ok_or_else(|| {
        let text = "measure what neighbours cost: expected two logical CPUs of one core that q2c may use, found none; there is no SMT here, or it is off; q2c place sim needs none";
        Fault::new(Exit::Environment, text)
    })?;
    let model = q2c_host::machine::read(roots).cpu_model.unwrap_or_default();
    if model.contains("QEMU TCG") {
        let text = format!(
            "measure what neighbours cost: expected a processor, found an emulated one ({model}): its CPUs share no pipeline; q2c place sim needs none"
        );
        return Err(Fault::new(Exit::Environment, text));
    }
    Ok(Siblings {
        own,
        other,
        trial,
        device: None,
    })
}

/// A measured task, its neighbour, and true if both run on the same logical CPU.
type PairCell = (Work, Option<Work>, bool);

fn cells(polling: &[Work]) -> Vec<PairCell> {
    let mut cells = Vec::new();
    for work in Work::COMPUTE {
        cells.push((work, None, false));
        cells.push((work, Some(work), false));
        cells.extend(polling.iter().map(|poll| (work, Some(*poll), false)));
        cells.push((work, Some(Work::PollPause), true));
    }
    for work in polling.iter().copied() {
        cells.push((work, None, false));
        cells.push((work, Some(work), false));
        cells.extend(Work::COMPUTE.map(|compute| (work, Some(compute), false)));
    }
    cells
}

/// Number of trials that [`measure`] makes in all.
pub fn trial_count(machine: &impl PairMachine, trials: u32) -> usize {
    cells(&machine.polling()).len() * trials as usize
}

/// Measures all pairs. Each rate is divided by the rate of the same task alone in the same round,
/// so that a drifting clock changes both.
///
/// # Errors
/// A thread cannot be run, a signal came, or C beside C cannot be told from C alone.
pub fn measure(
    machine: &mut impl PairMachine,
    cpus: (CpuId, CpuId),
    plan: CalibrationPlan,
    stop: &AtomicBool,
) -> Result<(Vec<Pair>, Speeds), Fault> {
    let cells = cells(&machine.polling());
    let pairs = measure_pairs(machine, &cells, cpus, plan, stop)?;
    let speeds = speeds_from_pairs(&pairs);
    Ok((pairs, speeds))
}

/// Checks that the logical CPUs share a pipeline. Returns the speed beside its own kind of the
/// computing class that loses most.
///
/// # Errors
/// As [`measure`].
pub fn shared_pipeline(
    machine: &mut impl PairMachine,
    cpus: (CpuId, CpuId),
    plan: CalibrationPlan,
    stop: &AtomicBool,
) -> Result<Interval, Fault> {
    let class_cells = |work| [(work, None, false), (work, Some(work), false)];
    let cells: Vec<PairCell> = Work::COMPUTE.into_iter().flat_map(class_cells).collect();
    let pairs = measure_pairs(machine, &cells, cpus, plan, stop)?;
    let speeds = pairs.into_iter().map(|pair| pair.speed);
    let slowest = speeds.min_by(|a, b| a.max.total_cmp(&b.max));
    Ok(slowest.unwrap_or_default())
}

/// Returns the cells with a neighbour. Fails if C beside C cannot be told from C alone.
fn measure_pairs(
    machine: &mut impl PairMachine,
    cells: &[PairCell],
    cpus: (CpuId, CpuId),
    plan: CalibrationPlan,
    stop: &AtomicBool,
) -> Result<Vec<Pair>, Fault> {
    let mut speeds: Vec<Vec<f64>> = vec![Vec::new(); cells.len()];
    let mut rng = Rng::new(plan.seed);
    for _ in 0..plan.trials {
        let mut rates = vec![0.0; cells.len()];
        let mut order: Vec<usize> = (0..cells.len()).collect();
        rng.shuffle(&mut order);
        for cell in order {
            if stop.load(Ordering::Relaxed) {
                let text = "measure all pairs: stopped by a signal before that";
                return Err(Fault::stopped(text));
            }
            let (work, neighbour, same_cpu) = cells[cell];
            let rate = machine.rate(work, neighbour, same_cpu);
            let tried = format_args!("run a task on CPUs {} and {}", cpus.0, cpus.1);
            rates[cell] = rate.or_fault(Exit::Environment, tried)?;
        }
        for (cell, (work, ..)) in cells.iter().enumerate() {
            let is_alone = |other: &PairCell| *other == (*work, None, false);
            let alone = cells
                .iter()
                .position(is_alone)
                .map_or(f64::NAN, |index| rates[index]);
            speeds[cell].push(rates[cell] / alone);
        }
    }
    let measured = cells.iter().zip(&speeds);
    let pairs = measured.filter(|((_, neighbour, _), _)| neighbour.is_some());
    let pairs = pairs.map(|(&(own, neighbour, same_cpu), speeds)| {
        let speed = Interval::from_samples(speeds);
        Pair {
            own,
            neighbour,
            same_cpu,
            speed,
        }
    });
    let pairs: Vec<Pair> = pairs.collect();
    check_loss(&pairs)?;
    Ok(pairs)
}

/// Checks that C beside C is slower than C alone. It is enough that one class loses speed in every
/// trial, so its fastest trial counts.
fn check_loss(pairs: &[Pair]) -> Result<(), Fault> {
    let beside_own =
        |pair: &&Pair| !pair.same_cpu && pair.neighbour == Some(pair.own) && !pair.own.polls();
    let fastest = pairs.iter().filter(beside_own).map(|pair| pair.speed.max);
    let slowest_class = fastest.fold(f64::INFINITY, f64::min);
    if slowest_class <= 1.0 - MIN_LOSS {
        return Ok(());
    }
    let percent = 100.0 * slowest_class;
    let text = format!(
        "measure what neighbours cost: computing tasks on both logical CPUs of a core run at {percent:.1} % of their speed alone: one cannot be told from the other, so that no gain could be told; the CPUs share no pipeline, or other work disturbs them"
    );
    Err(Fault::new(Exit::Environment, text))
}

fn speeds_from_pairs(pairs: &[Pair]) -> Speeds {
    let mean_speed = |own_polls: bool, neighbour_polls: bool| {
        let fits = |pair: &&Pair| {
            let polls = (pair.own.polls(), pair.neighbour.map(Work::polls));
            !pair.same_cpu && polls == (own_polls, Some(neighbour_polls))
        };
        let medians = pairs.iter().filter(fits).map(|pair| pair.speed.median);
        mean(&medians.collect::<Vec<f64>>())
    };
    Speeds {
        compute_beside_compute: mean_speed(false, false),
        compute_beside_polling: mean_speed(false, true),
        polling_beside_compute: mean_speed(true, false),
        polling_beside_polling: mean_speed(true, true),
    }
}

/// The widest spread (max - min) of the trials of a pair, divided by its median; for a warning.
pub fn widest_spread(pairs: &[Pair]) -> f64 {
    let spread = |pair: &Pair| (pair.speed.max - pair.speed.min) / pair.speed.median;
    let spreads: Vec<f64> = pairs.iter().map(spread).collect();
    sorted(&spreads).last().copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests;
