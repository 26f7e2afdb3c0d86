//! Decides which thread of a simulated machine runs when. It holds an event for each thread, CPUs
//! with their queues, and the time of the current event.

use super::{Counters, SimCpuCounters};
use q2c_model::CpuId;
use q2c_service::{IrqPlacement, SimMachine, WakeCosts};
use q2c_sys::thread::ContextSwitches;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;

/// A run is stuck if its time advances by less than [`STEP_SPAN_NS`] in this many steps of each
/// lane.
const MAX_STEPS: usize = 1 << 20;
const STEP_SPAN_NS: u64 = 1_000_000;

/// The event that ends a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    /// The begin of the thread, which costs nothing.
    Begin,
    Timer,
    /// A timer's, where a completion comes before the thread runs.
    MissedTimer,
    Interrupt,
    /// A request of the hardware queue is free. The interrupt that frees it belongs to another
    /// thread's I/O, so its handler is not counted here.
    Request,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThreadState {
    /// On its CPU since `since`, busy until `until`, ns.
    Running {
        since: u64,
        until: u64,
        need: CpuNeed,
    },
    /// Waits for its CPU: to work for `amount` ns, or to look until the time `amount`, ns.
    Ready {
        amount: u64,
        need: CpuNeed,
    },
    Asleep(Wake),
    Ended,
}

/// The reason why a thread needs its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CpuNeed {
    /// It works: it needs a fixed amount of CPU time.
    Work,
    /// It looks for a completion until a fixed time, even if it loses its CPU meanwhile.
    Looks,
}

#[derive(Debug)]
pub(super) struct ScheduledThread {
    /// The costs of its steps: the machine's, or those behind its interface.
    pub costs: Rc<SimMachine>,
    /// `None` for the thread next to the lanes, which costs nothing.
    cpu: Option<usize>,
    state: ThreadState,
    /// Number of its latest event; events with lower numbers are void.
    latest_event: u32,
    /// Time at which it last left its CPU, ns.
    pub left_cpu_ns: u64,
    cpu_ns: u64,
    pub switches: ContextSwitches,
}

#[derive(Debug, Default)]
struct ScheduledCpu {
    running: Option<usize>,
    queue: VecDeque<usize>,
    turn_start: u64,
    counters: SimCpuCounters,
}

/// Time in ns, thread, number of the event.
type ScheduledEvent = Reverse<(u64, usize, u32)>;

#[derive(Debug)]
pub(super) struct WorldSchedule {
    pub costs: Rc<SimMachine>,
    pub now: u64,
    pub threads: Vec<ScheduledThread>,
    cpus: Vec<ScheduledCpu>,
    /// Time at which the lock is free for the next submitter, ns, and the node that held it last.
    lock_free_ns: u64,
    lock_node: Option<u32>,
    /// The CPU that takes the next interrupt, if all take them in turn.
    next_irq_cpu: usize,
    events: BinaryHeap<ScheduledEvent>,
    /// Number of the lanes' steps since `steps_from`, ns.
    steps: usize,
    steps_from: u64,
}

impl WorldSchedule {
    /// A schedule of `lanes` threads without a CPU and, last, the thread next to them. Time and
    /// counters continue from `counters`.
    pub(crate) fn new(costs: SimMachine, counters: &Counters, lanes: usize) -> Self {
        let costs = Rc::new(costs);
        let thread = |_| ScheduledThread {
            costs: Rc::clone(&costs),
            cpu: None,
            state: ThreadState::Asleep(Wake::Begin),
            latest_event: 0,
            left_cpu_ns: 0,
            cpu_ns: 0,
            switches: ContextSwitches::default(),
        };
        let cpu = |&counters: &SimCpuCounters| ScheduledCpu {
            counters,
            ..ScheduledCpu::default()
        };
        WorldSchedule {
            now: counters.now_ns,
            threads: (0..=lanes).map(thread).collect(),
            costs: Rc::clone(&costs),
            cpus: counters.cpus.iter().map(cpu).collect(),
            lock_free_ns: 0,
            lock_node: None,
            next_irq_cpu: 0,
            events: BinaryHeap::new(),
            steps: 0,
            steps_from: counters.now_ns,
        }
    }

    pub(crate) fn is_stuck(&self) -> bool {
        self.steps > MAX_STEPS * self.threads.len()
    }

    pub(crate) fn is_side_thread(&self, thread: usize) -> bool {
        thread + 1 == self.threads.len()
    }

    /// Places a lane on a CPU before it begins. Returns false if that CPU does not exist.
    pub(crate) fn place(&mut self, thread: usize, cpu: CpuId) -> bool {
        let cpu = cpu.0 as usize;
        let exists = cpu < self.cpus.len();
        if exists && !self.is_side_thread(thread) {
            self.threads[thread].cpu = Some(cpu);
        }
        exists
    }

    /// The CPU that a thread submits from. Threads that are not placed are dealt to the CPUs.
    pub(crate) fn cpu_of(&self, thread: usize) -> CpuId {
        let cpu = self.threads[thread].cpu;
        CpuId(cpu.unwrap_or(thread % self.cpus.len()) as u32)
    }

    pub(crate) fn begin_all(&mut self) {
        for thread in 0..self.threads.len() {
            self.push(thread, self.now);
        }
    }

    /// Lets the thread work for `ns`. Returns true if it has to give way to others.
    #[inline]
    pub(crate) fn work(&mut self, thread: usize, ns: u64) -> bool {
        let Some(cpu) = self.threads[thread].cpu else {
            return false;
        };
        self.steps += 1;
        if self.now >= self.steps_from + STEP_SPAN_NS {
            (self.steps, self.steps_from) = (0, self.now);
        }
        self.occupy(thread, cpu, self.now + ns, CpuNeed::Work)
    }

    /// The time of a step of `ns` that begins now: threads that run on sibling CPUs slow it down.
    pub(crate) fn beside_siblings(&self, thread: usize, ns: u64) -> u64 {
        let Some(cpu) = self.threads[thread].cpu.filter(|_| self.costs.threads > 1) else {
            return ns;
        };
        let cores = self.costs.cores as usize;
        let core_cpus = (cpu % cores..self.cpus.len()).step_by(cores);
        let siblings = core_cpus.filter(|sibling| *sibling != cpu);
        let running = siblings.filter_map(|sibling| self.cpus[sibling].running);
        let speed = running.map(|other| match self.threads[other].state {
            ThreadState::Running {
                need: CpuNeed::Looks,
                ..
            } => self.costs.compute_beside_polling,
            _ => self.costs.compute_beside_compute,
        });
        (ns as f64 / speed.product::<f64>()).round() as u64
    }

    /// Lets the thread look until `until`. Returns true if it has to give way to others.
    #[inline]
    pub(crate) fn look_until(&mut self, thread: usize, until: u64) -> bool {
        match self.threads[thread].cpu {
            Some(cpu) => self.occupy(thread, cpu, until.max(self.now), CpuNeed::Looks),
            None => false,
        }
    }

    /// Lets the thread spin for the lock and hold it, in the order of arrival. A thread that loses
    /// its CPU meanwhile delays nobody, as if it lost it afterwards. Returns true if it has to give
    /// way to others.
    pub(crate) fn lock(&mut self, thread: usize) -> bool {
        if self.costs.lock_ns == 0 {
            return false;
        }
        let must_wait = self.lock_free_ns > self.now;
        let handover_ns = if must_wait { self.costs.handover_ns } else { 0 };
        let node = self.costs.node_of(self.cpu_of(thread).0);
        let is_remote = self
            .lock_node
            .replace(node)
            .is_some_and(|last| last != node);
        let remote_ns = if is_remote { self.costs.remote_ns } else { 0 };
        let begin = self.lock_free_ns.max(self.now) + handover_ns + remote_ns;
        self.lock_free_ns = begin + self.costs.lock_ns;
        self.look_until(thread, self.lock_free_ns)
    }

    #[inline]
    fn occupy(&mut self, thread: usize, cpu: usize, end: u64, new_need: CpuNeed) -> bool {
        let next = self.events.peek();
        let is_next = next.is_none_or(|Reverse(event)| (end, thread) < (event.0, event.1));
        if is_next && self.cpus[cpu].queue.is_empty() {
            self.now = end;
            return false;
        }
        if let ThreadState::Running { until, need, .. } = &mut self.threads[thread].state {
            (*until, *need) = (end, new_need);
        }
        self.push_running(thread, cpu);
        true
    }

    /// Puts the thread to sleep. A timer ends at `at`; an interrupt signals a completion at `at`.
    pub(crate) fn sleep(&mut self, thread: usize, at: u64, wake: Wake) {
        let Some(cpu) = self.threads[thread].cpu else {
            self.threads[thread].state = ThreadState::Asleep(wake);
            return self.push(thread, at);
        };
        self.leave(thread, cpu, ThreadState::Asleep(wake));
        self.threads[thread].switches.voluntary += 1;
        let delay = self.wake_costs(thread, wake).before_switch_ns();
        self.push(thread, at.max(self.now).saturating_add(delay));
    }

    fn wake_costs(&self, thread: usize, wake: Wake) -> WakeCosts {
        let costs = &self.threads[thread].costs;
        match wake {
            Wake::Begin => WakeCosts::default(),
            Wake::Timer => costs.timed_wake(),
            Wake::MissedTimer => costs.missed_wake(),
            Wake::Interrupt => costs.interrupt_wake(),
            Wake::Request => WakeCosts {
                handler_ns: 0,
                ..costs.interrupt_wake()
            },
        }
    }

    /// Moves the end of a thread's wait for a request to `at`.
    pub(crate) fn wake_at(&mut self, thread: usize, at: u64) {
        if self.threads[thread].state == ThreadState::Asleep(Wake::Request) {
            let costs = self.wake_costs(thread, Wake::Request);
            // A thread without a CPU takes no time for its steps.
            let cpu = self.threads[thread].cpu;
            let delay = cpu.map_or(0, |_| costs.before_switch_ns());
            self.push(thread, at.max(self.now).saturating_add(delay));
        }
    }

    /// Ends the sleep of a thread without a CPU now.
    pub(crate) fn wake_now(&mut self, thread: usize) {
        self.push(thread, self.now);
    }

    pub(crate) fn end(&mut self, thread: usize) {
        match (self.threads[thread].cpu, self.threads[thread].state) {
            (Some(cpu), ThreadState::Running { .. }) => self.leave(thread, cpu, ThreadState::Ended),
            _ => self.threads[thread].state = ThreadState::Ended,
        }
    }

    /// Advances to the next event that lets a thread continue, and returns that thread. `None` if
    /// no thread waits for anything.
    pub(crate) fn next(&mut self) -> Option<usize> {
        while let Some(Reverse((at, thread, number))) = self.events.pop() {
            if self.threads[thread].latest_event != number {
                continue;
            }
            self.now = at;
            match (self.threads[thread].state, self.threads[thread].cpu) {
                (ThreadState::Asleep(_), None) => return Some(thread),
                (ThreadState::Asleep(wake), Some(cpu)) => self.wake(thread, cpu, wake),
                (ThreadState::Running { until, .. }, _) if until <= at => return Some(thread),
                (ThreadState::Running { .. }, Some(cpu)) => self.preempt(thread, cpu),
                _ => {}
            }
        }
        None
    }

    fn wake(&mut self, thread: usize, cpu: usize, wake: Wake) {
        let WakeCosts {
            handler_ns,
            switch_ns,
            ..
        } = self.wake_costs(thread, wake);
        self.handle_interrupt(cpu, wake, handler_ns);
        self.threads[thread].state = ThreadState::Ready {
            amount: switch_ns,
            need: CpuNeed::Work,
        };
        match self.cpus[cpu].running {
            None => self.dispatch(thread, cpu),
            Some(running) => {
                self.cpus[cpu].queue.push_back(thread);
                self.push_running(running, cpu);
            }
        }
    }

    /// Counts an interrupt, and charges its handler to the thread that runs on its CPU. A timer's
    /// is taken on the CPU of the thread that it wakes.
    fn handle_interrupt(&mut self, thread_cpu: usize, wake: Wake, handler_ns: u64) {
        let is_device = wake == Wake::Interrupt;
        let cpu = if is_device && self.costs.irq == IrqPlacement::Spread {
            let cpu = self.next_irq_cpu;
            self.next_irq_cpu = (cpu + 1) % self.cpus.len();
            cpu
        } else {
            thread_cpu
        };
        let counters = &mut self.cpus[cpu].counters;
        counters.interrupts_ns += handler_ns;
        counters.interrupts += u64::from(is_device);
        if let Some(running) = self.cpus[cpu].running {
            self.interrupt(running, handler_ns);
            self.push_running(running, cpu);
        }
    }

    /// Charges the time of an interrupt's handler to the running thread.
    fn interrupt(&mut self, running: usize, handler_ns: u64) {
        if let ThreadState::Running { since, until, need } = &mut self.threads[running].state {
            *since += handler_ns;
            if *need == CpuNeed::Work {
                *until += handler_ns;
            }
        }
    }

    /// Ends the running thread's turn if another thread waits.
    fn preempt(&mut self, thread: usize, cpu: usize) {
        let ThreadState::Running { until, need, .. } = self.threads[thread].state else {
            return;
        };
        if self.cpus[cpu].queue.is_empty() {
            return self.push_running(thread, cpu);
        }
        let amount = match need {
            CpuNeed::Work => until - self.now + self.costs.switch_ns,
            CpuNeed::Looks => until,
        };
        self.cpus[cpu].queue.push_back(thread);
        self.threads[thread].switches.involuntary += 1;
        self.leave(thread, cpu, ThreadState::Ready { amount, need });
    }

    /// Takes the thread off its CPU and gives the CPU to the next thread in the queue.
    fn leave(&mut self, thread: usize, cpu: usize, state: ThreadState) {
        let ran_ns = self.turn_ns(thread);
        self.threads[thread].cpu_ns += ran_ns;
        self.threads[thread].left_cpu_ns = self.now;
        self.threads[thread].state = state;
        self.threads[thread].latest_event += 1;
        let cpu_state = &mut self.cpus[cpu];
        cpu_state.counters.threads_ns += ran_ns;
        cpu_state.running = None;
        if let Some(next) = cpu_state.queue.pop_front() {
            self.dispatch(next, cpu);
        }
    }

    fn dispatch(&mut self, thread: usize, cpu: usize) {
        let ThreadState::Ready { amount, need } = self.threads[thread].state else {
            return;
        };
        let until = match need {
            CpuNeed::Work => self.now + amount,
            CpuNeed::Looks => amount.max(self.now),
        };
        let since = self.now;
        self.threads[thread].state = ThreadState::Running { since, until, need };
        self.cpus[cpu].running = Some(thread);
        self.cpus[cpu].turn_start = self.now;
        self.push_running(thread, cpu);
    }

    /// Sets the event of the thread that runs on `cpu`: the end of its work, or of its turn if
    /// others wait.
    fn push_running(&mut self, thread: usize, cpu: usize) {
        let ThreadState::Running { until, .. } = self.threads[thread].state else {
            return;
        };
        let cpu_state = &self.cpus[cpu];
        let turn_end = cpu_state.turn_start.saturating_add(self.costs.slice_ns);
        let at = if cpu_state.queue.is_empty() {
            until
        } else {
            until.min(turn_end.max(self.now))
        };
        self.push(thread, at);
    }

    fn push(&mut self, thread: usize, at: u64) {
        self.threads[thread].latest_event += 1;
        let number = self.threads[thread].latest_event;
        self.events.push(Reverse((at, thread, number)));
    }

    /// CPU time of the thread's present turn.
    fn turn_ns(&self, thread: usize) -> u64 {
        match self.threads[thread].state {
            ThreadState::Running { since, .. } => self.now.saturating_sub(since),
            _ => 0,
        }
    }

    pub(crate) fn cpu_ns(&self, thread: usize) -> u64 {
        self.threads[thread].cpu_ns + self.turn_ns(thread)
    }

    pub(crate) fn counters(&self) -> Counters {
        let counters = |cpu: &ScheduledCpu| {
            let turn = cpu.running.map_or(0, |thread| self.turn_ns(thread));
            SimCpuCounters {
                threads_ns: cpu.counters.threads_ns + turn,
                ..cpu.counters
            }
        };
        Counters {
            now_ns: self.now,
            cpus: self.cpus.iter().map(counters).collect(),
        }
    }
}
