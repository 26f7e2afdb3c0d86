//! The state of a sweep that takes a device's I/Os in parts, and that can be joined with others.

mod device;
mod plan;

use crate::batch::CostTables;
use crate::outcome::SimOutcome;
use crate::recording::LaneRecording;
use crate::reference::Drive;
use device::{InputDigest, SweepDevice, Totals};
use plan::{SweepPlan, broken_state, other_sweep, several_volumes};
use q2c_model::stored::StoredForm;
use q2c_model::{CostModel, Exit, Fault, OrFault};
use q2c_policy::PolicySpec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Display;

const FORM: StoredForm = StoredForm {
    letters: "q2csweep",
    version: 1,
    what: "the state of a sweep",
};

/// Configurations over the I/Os of one device, or over those of many volumes.
///
/// One device: call [`ResumableSweep::new`], [`ResumableSweep::update`] for each part of its I/Os
/// in order, then [`ResumableSweep::finish`]. The state may stop after any I/O, be sent elsewhere
/// by [`ResumableSweep::to_bytes`] and [`ResumableSweep::from_bytes`], and resume there.
///
/// Many volumes: each has its own state, and [`ResumableSweep::with_volumes`] adds them up in any
/// order. [`ResumableSweep::with_configurations`] adds other configurations over the same I/Os.
///
/// A device is one lane of depth 1 in a closed loop, as [`sweep`](crate::sweep) simulates it. The
/// outcomes equal those of `sweep` over the whole, to the last bit.
///
/// ```
/// use q2c_model::{CostModel, Nanos};
/// use q2c_policy::Io;
/// use q2c_sim::{Drive, LaneRecording, ResumableSweep};
///
/// let policies = ["mean:50%,1ms".parse()?, "pas".parse()?];
/// let cost = CostModel::delayed(Nanos(2_000));
/// let io = Io { bytes: 4096, ..Io::default() };
/// let mut hour = LaneRecording::default();
/// (0..1_000).for_each(|_| hour.push(io, 1_000.0, 80_000.0, 0.0));
///
/// let mut state = ResumableSweep::new("a disk", &policies, &cost, Drive::one_pass(1))?;
/// state.update(&hour)?;
/// let mut elsewhere = ResumableSweep::from_bytes(&state.to_bytes()?)?;
/// elsewhere.update(&hour)?;
/// assert_eq!(elsewhere.finish().outcomes[0].unwrap().ios, 2_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Serialize, Deserialize)]
pub struct ResumableSweep {
    plan: SweepPlan,
    volumes: BTreeSet<String>,
    input: InputDigest,
    /// The device whose I/Os are still coming; `None` once volumes have been added up.
    device: Option<SweepDevice>,
    /// The totals of each configuration and, last, of classic polling.
    totals: Vec<Totals>,
}

/// The outcomes of a sweep over one volume or many.
#[derive(Clone, Debug, PartialEq)]
pub struct VolumeOutcomes {
    /// The names of the volumes, in their order.
    pub volumes: Vec<String>,
    /// Number of I/Os of all volumes, those of the warm-up included.
    pub ios: u64,
    /// The configurations.
    pub policies: Vec<PolicySpec>,
    /// The outcome of each policy. It is `None` if a sleep was above
    /// [`ResumableSweep::LONGEST_SLEEP_NS`]; only [`sweep`](crate::sweep) over the whole can
    /// simulate that.
    pub outcomes: Vec<Option<SimOutcome>>,
    /// The outcome of classic polling.
    pub poll: SimOutcome,
}

impl ResumableSweep {
    /// The longest sleep of a configuration that can be swept in parts, ns.
    pub const LONGEST_SLEEP_NS: u64 = crate::batch::MAX_SLEEP_NS;

    /// The state before the first I/O of the device `volume`. An I/O counts if it begins at or
    /// after `drive.warm_up` and before `drive.warm_up + drive.measure` of simulated time;
    /// [`Drive::ONE_PASS`] counts to the last I/O fed.
    ///
    /// # Errors
    /// Fails if a configuration or the costs cannot be swept in parts, or the costs are invalid.
    pub fn new(
        volume: &str,
        policies: &[PolicySpec],
        cost: &CostModel,
        drive: Drive,
    ) -> Result<Self, Fault> {
        let plan = SweepPlan::new(policies, cost, drive)?;
        let device = SweepDevice::new(&plan)?;
        Ok(ResumableSweep {
            totals: vec![Totals::default(); policies.len() + 1],
            volumes: BTreeSet::from([volume.to_owned()]),
            input: InputDigest::default(),
            device: Some(device),
            plan,
        })
    }

    /// Takes the next I/Os of the device. Parts of 10,000 I/Os and more are fast, because each call
    /// loads and stores all states. The last think time lasts until the next part begins; that
    /// part's [`LaneRecording::first_at`] is added to it.
    ///
    /// # Errors
    /// Fails if volumes were added up before, or I/Os take too long; the state then stays as it
    /// was.
    pub fn update(&mut self, part: &LaneRecording) -> Result<(), Fault> {
        let device = self.device.as_mut().ok_or_else(several_volumes)?;
        device.update(&self.plan, part)
    }

    /// True if every configuration has simulated the time that counts. If not, the recording may be
    /// fed to [`ResumableSweep::update`] again, as [`sweep`](crate::sweep) repeats it.
    pub fn is_done(&self) -> bool {
        let device = self.device.as_ref();
        device.is_none_or(|device| device.is_done(&self.plan))
    }

    /// Number of I/Os of all volumes so far.
    pub fn ios(&self) -> u64 {
        let device = self.device.as_ref().map_or(0, |device| device.input.ios);
        self.input.ios.saturating_add(device)
    }

    /// The names of the volumes.
    pub fn volumes(&self) -> impl ExactSizeIterator<Item = &str> {
        self.volumes.iter().map(String::as_str)
    }

    /// The configurations.
    pub fn policies(&self) -> Vec<PolicySpec> {
        let policies = self.plan.policies.iter();
        policies.map(PolicySpec::with_new_counts).collect()
    }

    /// The costs.
    pub fn cost(&self) -> &CostModel {
        &self.plan.cost
    }

    /// The simulated time, and the seed.
    pub fn drive(&self) -> Drive {
        self.plan.drive
    }

    /// The serialised form.
    ///
    /// # Errors
    /// Fails if the state cannot be serialised.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Fault> {
        FORM.to_bytes(self).or_exit(Exit::Internal)
    }

    /// Restores the state from the bytes of [`ResumableSweep::to_bytes`].
    ///
    /// # Errors
    /// Fails if the bytes are of another kind or version, damaged, or incomplete.
    pub fn from_bytes(bytes: &[u8]) -> Result<ResumableSweep, Fault> {
        let state: ResumableSweep = FORM.from_bytes(bytes).or_exit(Exit::Input)?;
        state.check()?;
        Ok(state)
    }

    /// Returns the outcomes so far; the state stays. Several volumes count as lanes of one device,
    /// and sums are added. If their simulated times differ, IOPS are the I/Os per volume over the
    /// mean time, times the number of volumes.
    pub fn finish(&self) -> VolumeOutcomes {
        let device = self.device.as_ref();
        let device_totals = device.map(|device| device.totals(&self.plan));
        let totals = device_totals.as_ref().unwrap_or(&self.totals);
        let volumes = self.volumes.len();
        let costs = CostTables::new(&self.plan.cost);
        let outcome = |totals: &Totals| totals.outcome(volumes, costs.as_ref()?);
        let mut outcomes: Vec<Option<SimOutcome>> = totals.iter().map(outcome).collect();
        let poll = outcomes.pop().flatten().unwrap_or_default();
        VolumeOutcomes {
            volumes: self.volumes.iter().cloned().collect(),
            ios: self.ios(),
            policies: self.policies(),
            outcomes,
            poll,
        }
    }

    /// Adds the state of other volumes, in any order. After that no more I/Os can be added.
    ///
    /// # Errors
    /// Fails if configurations, costs or times differ, a volume is in both, or sums get too large.
    pub fn with_volumes(self, other: ResumableSweep) -> Result<ResumableSweep, Fault> {
        self.plan.check_same_machine(&other.plan)?;
        self.plan.check_same_policies(&other.plan)?;
        if let Some(volume) = self.volumes.intersection(&other.volumes).next() {
            let text = format!("different volumes, found {volume} in both");
            return Err(other_sweep(text));
        }
        let (mut joined, other) = (self.into_totals(), other.into_totals());
        let pairs = joined.totals.into_iter().zip(&other.totals);
        let sums = pairs.map(|(totals, other)| totals.checked_add(other));
        let sums: Option<Vec<Totals>> = sums.collect();
        joined.totals = sums.ok_or_else(|| {
            let text = "add up sweeps: expected sums below 2^61, found more; add up fewer volumes";
            Fault::new(Exit::Usage, text)
        })?;
        joined.input = joined.input.combined_with(other.input);
        joined.volumes.extend(other.volumes);
        Ok(joined)
    }

    /// Adds other configurations over the same I/Os of the same volumes, after the existing ones.
    ///
    /// # Errors
    /// Fails if costs, times, volumes or I/Os differ, or if a configuration is in both.
    pub fn with_configurations(mut self, other: ResumableSweep) -> Result<ResumableSweep, Fault> {
        self.plan.check_same_machine(&other.plan)?;
        let differ = self.volumes.symmetric_difference(&other.volumes).next();
        if let Some(volume) = differ {
            let text = format!("the same volumes, found {volume} in one alone");
            return Err(other_part(text));
        }
        let mut policies = self.plan.policies.iter().map(ToString::to_string);
        let others = other.plan.policies.iter().map(ToString::to_string);
        let others: Vec<String> = others.collect();
        if let Some(both) = policies.find(|policy| others.contains(policy)) {
            return Err(other_part(format!("different ones, found {both} in both")));
        }
        let (input, other_input) = (self.input(), other.input());
        if input != other_input {
            return Err(other_part(format_args!(
                "the same {} I/Os, found {} that are not all the same; feed both alike",
                input.ios, other_input.ios
            )));
        }
        match (&mut self.device, other.device) {
            (Some(device), Some(mut other)) => {
                device.simulations.pop();
                device.simulations.append(&mut other.simulations);
            }
            (None, None) => {
                self.totals.pop();
                self.totals.extend(other.totals);
            }
            _ => return Err(several_volumes()),
        }
        self.plan.policies.extend(other.plan.policies);
        if self.device.is_some() {
            let count = self.plan.policies.len() + 1;
            self.totals.resize(count, Totals::default());
        }
        Ok(self)
    }

    fn input(&self) -> InputDigest {
        let device = self.device.as_ref();
        device.map_or(self.input, |device| device.input)
    }

    fn into_totals(mut self) -> ResumableSweep {
        if let Some(device) = self.device.take() {
            self.totals = device.totals(&self.plan);
            self.input = device.input.finished();
        }
        self
    }

    fn check(&self) -> Result<(), Fault> {
        self.plan.check()?;
        let count = self.plan.policies.len() + 1;
        let sound = self.totals.len() == count
            && !self.volumes.is_empty()
            && self.totals.iter().all(Totals::is_sound)
            && self.device.iter().all(|device| device.is_sound(count));
        match &self.device {
            _ if !sound => Err(broken_state()),
            Some(device) => device.check(&self.plan),
            None => Ok(()),
        }
    }
}

fn other_part(reason: impl Display) -> Fault {
    let text = format!("join configurations of a sweep: expected {reason}");
    Fault::new(Exit::Usage, text)
}
