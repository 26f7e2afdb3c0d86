//! The sampler: it reads the lanes' CPU time while they run, tells the phase boundaries, and passes
//! a stop on.

use super::crew::SideWork;
use crate::time::{NAP_NS, rest_until};
use crate::{Observer, Time};
use q2c_model::{CpuId, Nanos};
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) struct Sampler<'a> {
    pub phases: &'a [Nanos],
    pub interval: Nanos,
    pub cpu: Option<CpuId>,
    pub observer: &'a mut (dyn Observer + Send),
    pub stop: &'a AtomicBool,
    pub halt: &'a AtomicBool,
}

/// Reads every lane's CPU time at each interval of each phase, and passes `stop` on to `halt`.
/// Returns the readings of each lane: time on the run's clock and thread CPU, ns.
impl SideWork for Sampler<'_> {
    type Out = Vec<Vec<(u64, u64)>>;

    fn go<T: Time>(self, time: T, begin: u64, threads: &[u32]) -> Self::Out {
        if let Some(cpu) = self.cpu {
            // If pinning fails, the sampler may cost the lanes a little, but no number changes its
            // meaning.
            time.pin(cpu).ok();
        }
        let pause = |until| pause(time, until, self.stop, self.halt);
        let mut readings = vec![Vec::new(); threads.len()];
        let mut phase_begin = begin;
        'run: for (phase, length) in self.phases.iter().enumerate() {
            // The first phase is told in any case, because lanes do at least one I/O of it.
            if !pause(phase_begin) && phase > 0 {
                break;
            }
            self.observer.boundary(phase);
            for tick in 0..=length.0 / self.interval.0 {
                if !pause(phase_begin + tick * self.interval.0) {
                    break 'run;
                }
                read(time, threads, &mut readings);
            }
            phase_begin += length.0;
        }
        pause(phase_begin);
        self.observer.boundary(self.phases.len());
        readings
    }
}

/// Sleeps until the run's clock shows `until`. False when the run is halted; this is checked at
/// least once, even when `until` is over.
fn pause<T: Time>(time: T, until: u64, stop: &AtomicBool, halt: &AtomicBool) -> bool {
    loop {
        if stop.load(Ordering::Relaxed) {
            halt.store(true, Ordering::Relaxed);
        }
        let now = time.now();
        if halt.load(Ordering::Relaxed) || now >= until {
            return !halt.load(Ordering::Relaxed);
        }
        rest_until(until.min(now + NAP_NS), time, halt);
    }
}

fn read<T: Time>(time: T, threads: &[u32], readings: &mut [Vec<(u64, u64)>]) {
    for (thread, readings) in threads.iter().zip(readings) {
        // The thread of a lane that has ended early has no CPU clock any more, so its readings end
        // here.
        if let Some(cpu) = time.cpu_ns_of(*thread) {
            readings.push((time.now(), cpu));
        }
    }
}
