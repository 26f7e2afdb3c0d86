//! The sampler: it reads the lanes' CPU time while they run, tells the phase boundaries, and passes
//! a stop on.

use super::Observer;
use crate::rest::{NAP_NS, rest_until};
use q2c_model::{CpuId, Nanos};
use q2c_sys::Clock;
use q2c_sys::thread::{cpu_ns_of, pin};
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) struct Sampler<'a> {
    pub clock: Clock,
    pub phases: &'a [Nanos],
    pub interval: Nanos,
    pub cpu: Option<CpuId>,
}

impl Sampler<'_> {
    /// Reads every lane's CPU time at each interval of each phase, and passes `stop` on to `halt`.
    /// Returns the readings of each lane: time on the run's clock and thread CPU, ns.
    pub fn follow(
        &self,
        begin: u64,
        tids: &[u32],
        observer: &mut (dyn Observer + Send),
        stop: &AtomicBool,
        halt: &AtomicBool,
    ) -> Vec<Vec<(u64, u64)>> {
        if let Some(cpu) = self.cpu {
            // If pinning fails, the sampler may cost the lanes a little, but no number changes its
            // meaning.
            pin(cpu).ok();
        }
        let mut readings = vec![Vec::new(); tids.len()];
        let mut phase_begin = begin;
        'run: for (phase, length) in self.phases.iter().enumerate() {
            // The first phase is told in any case, because lanes do at least one I/O of it.
            if !self.pause(phase_begin, stop, halt) && phase > 0 {
                break;
            }
            observer.boundary(phase);
            for tick in 0..=length.0 / self.interval.0 {
                if !self.pause(phase_begin + tick * self.interval.0, stop, halt) {
                    break 'run;
                }
                self.read(tids, &mut readings);
            }
            phase_begin += length.0;
        }
        self.pause(phase_begin, stop, halt);
        observer.boundary(self.phases.len());
        readings
    }

    /// Sleeps until the run's clock shows `until`. False when the run is halted; this is checked at
    /// least once, even when `until` is over.
    fn pause(&self, until: u64, stop: &AtomicBool, halt: &AtomicBool) -> bool {
        loop {
            if stop.load(Ordering::Relaxed) {
                halt.store(true, Ordering::Relaxed);
            }
            let now = self.clock.now();
            if halt.load(Ordering::Relaxed) || now >= until {
                return !halt.load(Ordering::Relaxed);
            }
            rest_until(until.min(now + NAP_NS), self.clock, halt);
        }
    }

    fn read(&self, tids: &[u32], readings: &mut [Vec<(u64, u64)>]) {
        for (tid, readings) in tids.iter().zip(readings) {
            // The thread of a lane that has ended early has no CPU clock any more, so its readings
            // end here.
            if let Ok(cpu) = cpu_ns_of(*tid) {
                readings.push((self.clock.now(), cpu));
            }
        }
    }
}
