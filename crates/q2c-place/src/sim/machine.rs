//! A machine with tasks, step by step.

use super::account::Account;
use super::balancer::Balancer;
use super::linux;
use super::task::Running;
use super::{CacheTerm, PlaceSim, Policy};
use crate::map::{CpuIndex, Distance};
use crate::predictor::Class;
use crate::rules::Tally;
use crate::speed;
use q2c_model::stats::{Rng, mean};

/// The window of the predictor, seconds.
const WINDOW_S: f64 = 0.01;

/// The outcome of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlaceSimOutcome {
    /// Mean run time of the C tasks / run time alone; `None` if one has no end or did not reach it.
    pub c_slowdown: Option<f64>,
    /// Counts over time.
    pub account: Account,
}

/// The run queues: `truth` is what tasks do, `seen` what the predictor takes them for.
#[derive(Clone, Debug)]
pub(super) struct SimRunQueues<'a> {
    tasks: Vec<Running>,
    tasks_on: Vec<Vec<usize>>,
    pub(super) truth: Tally<'a>,
    pub(super) seen: Tally<'a>,
    refill_s: f64,
    pub(super) now_s: f64,
    /// Moves of tasks, background tasks left out.
    migrations: u64,
    changed: bool,
    /// CPUs that ran out of tasks since the last look of the balancer.
    pub(super) became_idle: Vec<CpuIndex>,
    rng: Rng,
}

impl SimRunQueues<'_> {
    pub(crate) fn move_random(&mut self, from: CpuIndex, to: CpuIndex) {
        let nth = self.rng.below(self.tasks_on[from].len().max(1) as u64) as usize;
        self.migrate(self.tasks_on[from][nth], to);
    }

    pub(crate) fn move_class(&mut self, from: CpuIndex, to: CpuIndex, class: Class) {
        let of_class = |task: &&usize| self.tasks[**task].predictor.class() == class;
        let tasks = self.tasks_on[from].iter().filter(of_class);
        let nth = self.rng.below(tasks.clone().count().max(1) as u64) as usize;
        let task = tasks.copied().nth(nth).expect("a task of the class");
        self.migrate(task, to);
    }

    fn migrate(&mut self, task: usize, to: CpuIndex) {
        let from = self.tasks[task].cpu;
        if self.truth.map.distance(from, to) == Distance::Machine {
            self.tasks[task].refill_s = self.refill_s;
        }
        self.leave(task);
        self.enter(task, to);
        self.count_move(task);
    }

    fn count_move(&mut self, task: usize) {
        self.migrations += u64::from(!self.tasks[task].task.is_background());
    }

    fn leave(&mut self, task: usize) {
        self.changed = true;
        let leaving = &self.tasks[task];
        self.tasks_on[leaving.cpu].retain(|other| *other != task);
        self.truth.remove(leaving.cpu, leaving.task.class);
        self.seen.remove(leaving.cpu, leaving.predictor.class());
        if self.tasks_on[leaving.cpu].is_empty() {
            self.became_idle.push(leaving.cpu);
        }
    }

    fn fall_asleep(&mut self, task: usize) {
        let sleep_s = self.tasks[task].draw_sleep(&mut self.rng);
        self.tasks[task].wakes_at_s = Some(self.now_s + sleep_s);
    }

    fn enter(&mut self, task: usize, cpu: CpuIndex) {
        self.changed = true;
        let running = &mut self.tasks[task];
        running.cpu = cpu;
        self.truth.add(cpu, running.task.class);
        self.seen.add(cpu, running.predictor.class());
        self.tasks_on[cpu].push(task);
    }
}

impl PlaceSim<'_> {
    /// Runs until every C task with an end reached it, or time is over. Equal seeds, equal runs.
    pub(crate) fn run(&self, seed: u64) -> PlaceSimOutcome {
        let mut machine = PlaceSimMachine::new(self, seed);
        while !machine.is_done() {
            machine.step();
        }
        machine.outcome()
    }
}

struct PlaceSimMachine<'a> {
    sim: &'a PlaceSim<'a>,
    queues: SimRunQueues<'a>,
    balancer: Balancer,
    account: Account,
    /// For each CPU: work of a C task per second, and speed of a P task while it runs.
    rates: Vec<(f64, f64)>,
    next_window_s: f64,
}

impl<'a> PlaceSimMachine<'a> {
    fn new(sim: &'a PlaceSim<'a>, seed: u64) -> Self {
        let cpus = sim.map.cpus();
        let mut rng = Rng::new(seed);
        let running = sim.tasks.iter().map(|task| Running::new(*task, &mut rng));
        let mut queues = SimRunQueues {
            tasks: running.collect(),
            tasks_on: vec![Vec::new(); cpus],
            truth: Tally::new(sim.map),
            seen: Tally::new(sim.map),
            refill_s: sim.cache.map_or(0.0, |term| term.refill_s),
            now_s: 0.0,
            migrations: 0,
            changed: true,
            became_idle: Vec::new(),
            rng,
        };
        let mut order: Vec<usize> = (0..sim.tasks.len()).collect();
        if !matches!(sim.policy, Policy::Fixed(_)) {
            queues.rng.shuffle(&mut order);
        }
        for task in order {
            let cpu = match &sim.policy {
                Policy::Fixed(cpus) => cpus[task],
                Policy::Free | Policy::Rules(_) => linux::first_cpu(&queues.truth, &mut queues.rng),
            };
            if queues.tasks[task].draw_asleep(&mut queues.rng) {
                queues.tasks[task].cpu = cpu;
                queues.fall_asleep(task);
            } else {
                queues.enter(task, cpu);
            }
        }
        PlaceSimMachine {
            sim,
            balancer: Balancer::new(sim.map, &mut queues.rng),
            queues,
            account: Account::default(),
            rates: Vec::new(),
            next_window_s: WINDOW_S,
        }
    }

    fn is_done(&self) -> bool {
        let ends = |task: &&Running| task.task.work_s.is_some();
        let mut ending = self.queues.tasks.iter().filter(ends);
        let any_ends = ending.clone().next().is_some();
        let all_ended = ending.all(|task| task.first_run_s.is_some());
        (any_ends && all_ended) || self.queues.now_s >= self.sim.max_s
    }

    /// True if no task moves, and the predictor takes none for another class, before a task
    /// falls asleep or wakes up.
    fn is_at_rest(&self) -> bool {
        let is_settled = |task: &Running| {
            let is_polling = task.task.class == Class::Polling;
            let later = is_polling && task.wakes_at_s.is_none();
            let this_window = later || (is_polling && task.ran_in_window);
            task.predictor.is_settled(this_window) && task.predictor.is_settled(later)
        };
        let policy = &self.sim.policy;
        matches!(policy, Policy::Fixed(_))
            || (self.queues.tasks.iter().all(is_settled)
                && self.balancer.is_at_rest(&self.queues, policy))
    }

    fn step(&mut self) {
        if std::mem::take(&mut self.queues.changed) {
            self.rates = self.rates();
        }
        let phases = self.queues.tasks.iter().map(|task| self.phase_end_s(task));
        let phase_end_s = phases.fold(self.sim.max_s, f64::min);
        let resting = self.is_at_rest();
        let next_s = if resting {
            phase_end_s.min(self.queues.now_s + self.next_end_s())
        } else {
            let balance_s = self.balancer.next_due_s();
            phase_end_s.min(balance_s).min(self.next_window_s)
        };
        self.advance((next_s - self.queues.now_s).max(1e-9));
        if resting {
            self.balancer.skip_to(self.queues.now_s, &self.queues);
            self.skip_windows();
        }
        self.change_phases();
        if self.queues.now_s >= self.next_window_s {
            self.predict();
        }
        self.balancer.balance(&mut self.queues, self.sim);
        self.account.migrations = self.queues.migrations;
    }

    /// Leaves out the windows that ended at rest, in which the predictor changed nothing.
    fn skip_windows(&mut self) {
        let ended = ((self.queues.now_s - self.next_window_s) / WINDOW_S).ceil();
        if ended > 0.0 {
            self.next_window_s += ended * WINDOW_S;
            for task in &mut self.queues.tasks {
                task.ran_in_window = task.wakes_at_s.is_none();
            }
        }
    }

    /// When the task falls asleep or wakes up.
    fn phase_end_s(&self, task: &Running) -> f64 {
        let load = f64::from(self.queues.truth.cpus[task.cpu].load());
        let sleeps_at_s = self.queues.now_s + task.run_left_s * load;
        task.wakes_at_s.unwrap_or(sleeps_at_s)
    }

    fn rates(&self) -> Vec<(f64, f64)> {
        let truth = &self.queues.truth;
        let cache_effects = self.sim.cache.map(|term| cache_effects(truth, term));
        let rate = |cpu: CpuIndex| {
            let speeds = &self.sim.speeds;
            let compute = speed::while_running(speeds, truth, cpu, Class::Compute);
            let llc = truth.map.cache_of(truth.map.core_of(cpu));
            let cache = cache_effects.as_ref().map_or(1.0, |effects| effects[llc]);
            let share = 1.0 / f64::from(truth.cpus[cpu].load().max(1));
            let polling = speed::while_running(speeds, truth, cpu, Class::Polling);
            (compute * share * cache, polling)
        };
        (0..truth.map.cpus()).map(rate).collect()
    }

    fn next_end_s(&self) -> f64 {
        let seconds_left = |task: &Running| {
            let work = task.task.work_s?;
            Some((work - task.done_s + task.refill_s) / self.rates[task.cpu].0)
        };
        let ends = self.queues.tasks.iter().filter_map(seconds_left);
        ends.fold(f64::INFINITY, f64::min)
    }

    fn advance(&mut self, dt: f64) {
        let (rates, queues) = (&self.rates, &mut self.queues);
        self.account.step(&queues.truth, |cpu| rates[cpu].1, dt);
        let began = queues.now_s;
        queues.now_s += dt;
        let tasks = queues.tasks.iter_mut();
        for task in tasks.filter(|task| task.wakes_at_s.is_none()) {
            task.ran_in_window = true;
            task.run_left_s -= dt / f64::from(queues.truth.cpus[task.cpu].load().max(1));
            do_work(task, rates[task.cpu].0, began, dt);
        }
    }

    fn change_phases(&mut self) {
        for task in 0..self.queues.tasks.len() {
            let now = self.queues.now_s;
            let running = &self.queues.tasks[task];
            match running.wakes_at_s {
                None if running.run_left_s <= 0.0 => {
                    self.queues.leave(task);
                    self.queues.fall_asleep(task);
                }
                Some(at) if at <= now => {
                    let (before, queues) = (running.cpu, &mut self.queues);
                    let cpu = match self.sim.policy {
                        Policy::Fixed(_) => before,
                        _ => linux::cpu_for_woken_task(&queues.truth, before, &mut queues.rng),
                    };
                    queues.tasks[task].wakes_at_s = None;
                    queues.tasks[task].draw_run(&mut queues.rng);
                    queues.enter(task, cpu);
                    if cpu != before {
                        queues.count_move(task);
                    }
                }
                _ => continue,
            }
            self.balancer.mark_changed();
        }
    }

    fn predict(&mut self) {
        self.next_window_s += WINDOW_S;
        for running in &mut self.queues.tasks {
            let before = running.predictor.class();
            let ran = std::mem::take(&mut running.ran_in_window);
            let polled = ran && running.task.class == Class::Polling;
            running.predictor.update(polled);
            let after = running.predictor.class();
            if before != after && running.wakes_at_s.is_none() {
                self.queues.seen.remove(running.cpu, before);
                self.queues.seen.add(running.cpu, after);
                self.balancer.mark_changed();
            }
        }
    }

    fn outcome(self) -> PlaceSimOutcome {
        let ending = self.queues.tasks.iter().filter_map(|task| {
            let work = task.task.work_s?;
            Some(task.first_run_s.map(|time| time / work))
        });
        let times: Option<Vec<f64>> = ending.collect();
        let times = times.filter(|times| !times.is_empty());
        PlaceSimOutcome {
            c_slowdown: times.map(|times| mean(&times)),
            account: self.account,
        }
    }
}

fn do_work(task: &mut Running, rate: f64, began_s: f64, dt: f64) {
    let Some(work) = task.task.work_s else {
        return;
    };
    let step_work = rate * dt;
    let refilled = task.refill_s.min(step_work);
    task.refill_s -= refilled;
    task.done_s += step_work - refilled;
    let excess = task.done_s - work;
    if excess >= -1e-12 * work {
        let ended = began_s + dt - excess.max(0.0) / rate;
        task.first_run_s.get_or_insert(ended - task.began_s);
        task.began_s = ended;
        task.done_s = excess.max(0.0);
    }
}

fn cache_effects(truth: &Tally<'_>, term: CacheTerm) -> Vec<f64> {
    let map = truth.map;
    let mut running = vec![0.0; map.caches()];
    for (cpu, counts) in truth.cpus.iter().enumerate() {
        let llc = map.cache_of(map.core_of(cpu));
        if counts.load() > 0 {
            running[llc] += f64::from(counts.compute) / f64::from(counts.load());
        }
    }
    let effect = |running: f64| 1.0 / (1.0 + term.per_neighbour * (running - 1.0).max(0.0));
    running.into_iter().map(effect).collect()
}
