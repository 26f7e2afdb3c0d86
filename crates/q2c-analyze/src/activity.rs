//! Time with I/Os in flight, and pauses without.

use q2c_result::analyze::Activity;

/// Sums active and idle time, and counts pauses, as the sweep over time reports them.
#[derive(Default)]
pub(crate) struct Idle {
    activity: Activity,
    /// Length of the pause that goes on now, ns; 0 while an I/O is in flight.
    running: u64,
}

impl Idle {
    /// Nothing was in flight for another `ns`.
    pub(crate) fn add(&mut self, ns: u64) {
        self.running += ns;
        self.activity.idle_ns += ns;
    }

    /// An I/O was in flight for `ns`: this ends the pause before it, if there is one.
    pub(crate) fn ends(&mut self, ns: u64) {
        if ns == 0 {
            return;
        }
        self.activity.active_ns += ns;
        self.close();
    }

    fn close(&mut self) {
        let pause = std::mem::take(&mut self.running);
        self.activity.pauses += u64::from(pause >= Activity::PAUSE_NS);
        self.activity.longest_idle_ns = self.activity.longest_idle_ns.max(pause);
    }

    pub(crate) fn activity(&self) -> Activity {
        self.activity
    }
}
