//! Working and idle.

use q2c_result::analyze::Activity;

/// Pauses, as the sweep meets them.
#[derive(Default)]
pub(crate) struct Idle {
    activity: Activity,
    /// Idle since the last I/O.
    running: u64,
}

impl Idle {
    /// Nothing in flight for so long.
    pub(crate) fn add(&mut self, ns: u64) {
        self.running += ns;
        self.activity.idle_ns += ns;
    }

    /// Something in flight for so long; a pause before it is over.
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
