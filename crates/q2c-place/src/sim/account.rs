//! Counts of a simulation.

use crate::rules::Tally;
use q2c_result::place::States;

/// Run time of the P tasks on CPUs with a given number of runnable tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PollSharing {
    /// Seconds in which P tasks ran.
    pub ran_s: f64,
    /// The same seconds, multiplied by the speed of the tasks.
    pub work_s: f64,
}

/// Counts over the time of a simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Account {
    /// Simulated time.
    pub seconds: f64,
    /// Seconds in each state.
    pub states: States,
    /// Run time of P tasks; index n is for CPUs with n + 1 runnable tasks.
    pub sharing: Vec<PollSharing>,
    /// Time in which P tasks could run, summed over them.
    pub polling_s: f64,
    /// Moves of tasks, background tasks left out.
    pub migrations: u64,
}

impl Account {
    pub(super) fn step(&mut self, tally: &Tally<'_>, p_speed: impl Fn(usize) -> f64, dt: f64) {
        self.seconds += dt;
        self.polling_s += dt * f64::from(tally.polling);
        *state_seconds(tally, &mut self.states) += dt;
        let cpus = tally.cpus.iter().enumerate();
        for (cpu, counts) in cpus.filter(|(_, counts)| counts.polling > 0) {
            let load = counts.load() as usize;
            let most = self.sharing.len().max(load);
            self.sharing.resize(most, PollSharing::default());
            let ran = dt * f64::from(counts.polling) / load as f64;
            self.sharing[load - 1].ran_s += ran;
            self.sharing[load - 1].work_s += ran * p_speed(cpu);
        }
    }
}

fn state_seconds<'s>(tally: &Tally<'_>, states: &'s mut States) -> &'s mut f64 {
    let map = tally.map;
    let of_cores = (0..map.cores()).map(|core| tally.polling_of_core[core]);
    let most = of_cores.clone().max().unwrap_or(0);
    let even = most - of_cores.min().unwrap_or(0) <= 1;
    let polls = |cpu: &&usize| tally.cpus[**cpu].polling > 0;
    let polling_cpus = |core| map.cpus_of(core).iter().filter(polls).count();
    let one_cpu_per_core = (0..map.cores()).all(|core| polling_cpus(core) <= 1);
    match (even, one_cpu_per_core) {
        (true, true) => &mut states.colocate,
        (true, false) => &mut states.spread,
        (false, false) => &mut states.bunch,
        (false, true) => &mut states.heap,
    }
}
