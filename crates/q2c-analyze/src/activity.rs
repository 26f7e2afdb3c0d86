//! Time with I/Os in flight, and pauses without.

use q2c_result::analyze::TraceActivity;
use serde::{Deserialize, Serialize};

/// Sums active and idle time, and counts pauses. The times before the first I/O in flight and
/// behind the last one are kept apart until the neighbouring parts are known.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Idle {
    /// Its pauses are those between two times with I/Os in flight.
    activity: TraceActivity,
    /// Length of the pause before the first I/O in flight, ns; `None` until there is one.
    lead: Option<u64>,
    /// Length of the pause that goes on now, ns; 0 while an I/O is in flight.
    running: u64,
}

impl Idle {
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
        if self.running > 0 || self.lead.is_none() {
            self.close();
        }
    }

    fn close(&mut self) {
        let pause = std::mem::take(&mut self.running);
        match self.lead {
            None => self.lead = Some(pause),
            Some(_) => count(&mut self.activity, pause),
        }
    }

    pub(crate) fn join(&mut self, later: &Idle) {
        let (activity, more) = (&mut self.activity, &later.activity);
        activity.active_ns = activity.active_ns.saturating_add(more.active_ns);
        activity.idle_ns = activity.idle_ns.saturating_add(more.idle_ns);
        let lead = later.lead.unwrap_or(later.running);
        self.running = self.running.saturating_add(lead);
        if later.lead.is_some() {
            self.close();
            let activity = &mut self.activity;
            activity.pauses = activity.pauses.saturating_add(more.pauses);
            activity.longest_idle_ns = activity.longest_idle_ns.max(more.longest_idle_ns);
            self.running = later.running;
        }
    }

    /// The times of the whole trace, whose first pause is one like the others.
    pub(crate) fn activity(&self) -> TraceActivity {
        let mut activity = self.activity;
        count(&mut activity, self.lead.unwrap_or(0));
        activity
    }
}

fn count(activity: &mut TraceActivity, pause: u64) {
    let counts = u64::from(pause >= TraceActivity::PAUSE_NS);
    activity.pauses = activity.pauses.saturating_add(counts);
    activity.longest_idle_ns = activity.longest_idle_ns.max(pause);
}
