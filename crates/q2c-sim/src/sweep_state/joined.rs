//! How states of a sweep are put together.

use super::ResumableSweep;
use super::asked::other_sweep;
use super::error::ended;
use super::totals::Totals;
use q2c_model::{Exit, Fault};
use std::fmt::Display;

impl ResumableSweep {
    /// Adds the state of other volumes, in any order. Neither takes I/Os any more after that.
    ///
    /// # Errors
    /// They have other configurations, costs or times, or a volume in common.
    pub fn with_volumes(self, other: ResumableSweep) -> Result<ResumableSweep, Fault> {
        self.asked.same_machine(&other.asked)?;
        self.asked.same_policies(&other.asked)?;
        if let Some(volume) = self.volumes.intersection(&other.volumes).next() {
            let text = format!("different volumes, found {volume} in both");
            return Err(other_sweep(text));
        }
        let (mut joined, other) = (self.ended(), other.ended());
        let pairs = joined.totals.into_iter().zip(&other.totals);
        let sums = pairs.map(|(totals, other)| totals.checked_add(other));
        let sums: Option<Vec<Totals>> = sums.collect();
        joined.totals = sums.ok_or_else(|| {
            let text = "add up sweeps: expected sums below 2^61, found more; add up fewer volumes";
            Fault::new(Exit::Usage, text)
        })?;
        joined.fed = joined.fed.combined_with(other.fed);
        joined.volumes.extend(other.volumes);
        Ok(joined)
    }

    /// Adds other configurations over the same I/Os of the same volumes; they come behind these.
    ///
    /// # Errors
    /// They have other costs or times, were fed with other I/Os, or have a configuration in common.
    pub fn with_configurations(mut self, other: ResumableSweep) -> Result<ResumableSweep, Fault> {
        self.asked.same_machine(&other.asked)?;
        let differ = self.volumes.symmetric_difference(&other.volumes).next();
        if let Some(volume) = differ {
            let text = format!("the same volumes, found {volume} in one alone");
            return Err(other_part(text));
        }
        let mut policies = self.asked.policies.iter().map(ToString::to_string);
        let others = other.asked.policies.iter().map(ToString::to_string);
        let others: Vec<String> = others.collect();
        if let Some(both) = policies.find(|policy| others.contains(policy)) {
            return Err(other_part(format!("different ones, found {both} in both")));
        }
        let (seen, other_seen) = (self.seen(), other.seen());
        if seen != other_seen {
            return Err(other_part(format_args!(
                "the same {} I/Os, found {} that are not all the same; feed both alike",
                seen.ios, other_seen.ios
            )));
        }
        match (&mut self.device, other.device) {
            (Some(device), Some(mut other)) => {
                device.stopped.pop();
                device.stopped.append(&mut other.stopped);
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

    fn ended(mut self) -> ResumableSweep {
        if let Some(device) = self.device.take() {
            self.totals = device.totals(&self.asked);
            self.fed = device.fed.finished();
        }
        self
    }
}

fn other_part(reason: impl Display) -> Fault {
    let text = format!("join configurations of a sweep: expected {reason}");
    Fault::new(Exit::Usage, text)
}
