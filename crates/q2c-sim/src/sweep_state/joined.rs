//! How states of a sweep are put together.

use super::SweepState;
use super::asked::other_sweep;
use super::error::ended;
use super::totals::Totals;
use q2c_model::{Exit, Fault};
use std::fmt::Display;

impl SweepState {
    /// Adds the state of other volumes, in any order. Neither takes I/Os any more after that.
    ///
    /// # Errors
    /// They have other configurations, costs or times, or a volume in common.
    pub fn beside(self, other: SweepState) -> Result<SweepState, Fault> {
        self.asked.same_machine(&other.asked)?;
        self.asked.same_policies(&other.asked)?;
        if let Some(volume) = self.volumes.intersection(&other.volumes).next() {
            return Err(other_sweep(format_args!(
                "different volumes, found {volume} in both"
            )));
        }
        let (mut own, other) = (self.ended(), other.ended());
        let pairs = own.totals.into_iter().zip(&other.totals);
        let sums = pairs.map(|(own, other)| own.beside(other));
        let sums: Option<Vec<Totals>> = sums.collect();
        own.totals = sums.ok_or_else(|| {
            let text = "add up sweeps: expected sums below 2^61, found more; add up fewer volumes";
            Fault::new(Exit::Usage, text)
        })?;
        own.fed = own.fed.beside(other.fed);
        own.volumes.extend(other.volumes);
        Ok(own)
    }

    /// Adds other configurations over the same I/Os of the same volumes; they come behind these.
    ///
    /// # Errors
    /// They have other costs or times, were fed with other I/Os, or have a configuration in common.
    pub fn with_configurations(mut self, other: SweepState) -> Result<SweepState, Fault> {
        self.asked.same_machine(&other.asked)?;
        let differ = self.volumes.symmetric_difference(&other.volumes).next();
        if let Some(volume) = differ {
            return Err(other_part(format_args!(
                "the same volumes, found {volume} in one alone"
            )));
        }
        let mut own = self.asked.policies.iter().map(ToString::to_string);
        let others = other.asked.policies.iter().map(ToString::to_string);
        let others: Vec<String> = others.collect();
        if let Some(both) = own.find(|own| others.contains(own)) {
            return Err(other_part(format_args!(
                "different ones, found {both} in both"
            )));
        }
        let (seen, found) = (self.seen(), other.seen());
        if seen != found {
            return Err(other_part(format_args!(
                "the same {} I/Os, found {} that are not all the same; feed both alike",
                seen.ios, found.ios
            )));
        }
        match (&mut self.device, other.device) {
            (Some(own), Some(mut other)) => {
                own.stopped.pop();
                own.stopped.append(&mut other.stopped);
            }
            (None, None) => {
                self.totals.pop();
                self.totals.extend(other.totals);
            }
            _ => return Err(ended()),
        }
        self.asked.policies.extend(other.asked.policies);
        if self.device.is_some() {
            let count = self.asked.policies.len() + 1;
            self.totals.resize(count, Totals::default());
        }
        Ok(self)
    }

    fn seen(&self) -> super::Fed {
        self.device.as_ref().map_or(self.fed, |device| device.fed)
    }

    fn ended(mut self) -> SweepState {
        if let Some(device) = self.device.take() {
            self.totals = device.totals(&self.asked);
            self.fed = device.fed.whole();
        }
        self
    }
}

fn other_part(reason: impl Display) -> Fault {
    let text = format!("join configurations of a sweep: expected {reason}");
    Fault::new(Exit::Usage, text)
}
