//! What a sweep in parts gives.

use super::ResumableSweep;
use crate::batch::Charges;
use crate::outcome::SimOutcome;
use q2c_policy::PolicySpec;

/// The outcomes of a sweep over one volume or many.
#[derive(Clone, Debug, PartialEq)]
pub struct SweptVolumes {
    /// The names of the volumes, in their order.
    pub volumes: Vec<String>,
    /// I/Os of all volumes, those of the warm-up included.
    pub ios: u64,
    /// The configurations.
    pub policies: Vec<PolicySpec>,
    /// `None` for one that asked for more than [`ResumableSweep::LONGEST_SLEEP_NS`], which only
    /// [`sweep`](crate::sweep) over the whole can simulate.
    pub outcomes: Vec<Option<SimOutcome>>,
    /// The outcome of classic polling.
    pub poll: SimOutcome,
}

impl ResumableSweep {
    /// The outcomes so far; the state stays. Several volumes count as lanes of one device: all is
    /// added up. With unequal simulated times, IOPS are all I/Os per volume and mean time, times
    /// the number of volumes.
    #[must_use]
    pub fn finish(&self) -> SweptVolumes {
        let device_totals = self
            .device
            .as_ref()
            .map(|device| device.totals(&self.asked));
        let totals = device_totals.as_ref().unwrap_or(&self.totals);
        let volumes = self.volumes.len();
        let charges = Charges::new(&self.asked.cost);
        let outcome = |totals: &super::Totals| totals.outcome(volumes, charges.as_ref()?);
        let mut outcomes: Vec<Option<SimOutcome>> = totals.iter().map(outcome).collect();
        let poll = outcomes.pop().flatten().unwrap_or_default();
        SweptVolumes {
            volumes: self.volumes.iter().cloned().collect(),
            ios: self.ios(),
            policies: self.policies(),
            outcomes,
            poll,
        }
    }
}
