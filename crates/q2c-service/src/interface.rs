//! The interfaces by which programs reach a simulated device.

use crate::SimMachine;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// An interface whose costs a simulated machine may have. Its name is that of the engine that uses
/// it on a real device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SimInterface {
    /// Asynchronous I/O by rings.
    IoUring,
    /// Kernel AIO.
    Libaio,
    /// One call for each I/O.
    Pvsync2,
    /// A driver in the program, past the block layer: it takes no request of a hardware queue, and
    /// no lock that submitters share.
    Spdk,
}

impl SimInterface {
    /// Every interface.
    pub const ALL: [SimInterface; 4] = [Self::IoUring, Self::Libaio, Self::Pvsync2, Self::Spdk];

    /// Its name in texts of devices and in files.
    const fn name(self) -> &'static str {
        match self {
            SimInterface::IoUring => "io_uring",
            SimInterface::Libaio => "libaio",
            SimInterface::Pvsync2 => "pvsync2",
            SimInterface::Spdk => "spdk",
        }
    }

    /// True if it takes no request of a hardware queue and no lock, has no stages, and wakes no
    /// thread.
    pub const fn is_past_block_layer(self) -> bool {
        matches!(self, SimInterface::Spdk)
    }

    /// The key of its costs in the sources of a machine.
    pub(crate) fn key(self) -> String {
        format!("interfaces.{self}")
    }
}

/// The error says only that no interface has the name.
impl FromStr for SimInterface {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        let mut known = SimInterface::ALL.into_iter();
        known.find(|interface| interface.name() == name).ok_or(())
    }
}

impl fmt::Display for SimInterface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The costs of an interface, ns, under the names that [`SimMachine`] has for them. A cost that is
/// left out is the machine's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterfaceCosts {
    /// In place of [`SimMachine::submission_ns`].
    pub submission_ns: Option<u64>,
    /// In place of [`SimMachine::turnaround_ns`].
    pub turnaround_ns: Option<u64>,
    /// In place of [`SimMachine::look_ns`].
    pub look_ns: Option<u64>,
    /// In place of [`SimMachine::interrupt_ns`].
    pub interrupt_ns: Option<u64>,
    /// In place of [`SimMachine::interrupt_switch_ns`].
    pub interrupt_switch_ns: Option<u64>,
    /// In place of [`SimMachine::interrupt_delay_ns`].
    pub interrupt_delay_ns: Option<u64>,
}

impl SimMachine {
    /// The machine on which the costs of `interface` are its own; `None` if it has none for it.
    pub fn behind(&self, interface: SimInterface) -> Option<Self> {
        let costs = self.interfaces.get(&interface)?;
        Some(SimMachine {
            submission_ns: costs.submission_ns.unwrap_or(self.submission_ns),
            turnaround_ns: costs.turnaround_ns.unwrap_or(self.turnaround_ns),
            look_ns: costs.look_ns.unwrap_or(self.look_ns),
            interrupt_ns: costs.interrupt_ns.unwrap_or(self.interrupt_ns),
            interrupt_switch_ns: costs.interrupt_switch_ns.or(self.interrupt_switch_ns),
            interrupt_delay_ns: costs.interrupt_delay_ns.unwrap_or(self.interrupt_delay_ns),
            interfaces: BTreeMap::new(),
            sources: BTreeMap::new(),
            ..self.clone()
        })
    }

    /// The machine whose own costs were measured behind `interface`.
    #[must_use]
    pub fn measured_behind(mut self, interface: SimInterface) -> Self {
        let costs = InterfaceCosts {
            submission_ns: Some(self.submission_ns),
            turnaround_ns: Some(self.turnaround_ns),
            look_ns: Some(self.look_ns),
            interrupt_ns: Some(self.interrupt_ns),
            interrupt_switch_ns: Some(self.interrupt_wake().switch_ns),
            interrupt_delay_ns: Some(self.interrupt_delay_ns),
        };
        self.interfaces.insert(interface, costs);
        let source = "calibrated".to_owned();
        self.sources.insert(interface.key(), source);
        self
    }

    /// Adds the costs of another machine's interfaces, with their sources.
    pub fn add_interfaces_of(&mut self, other: &SimMachine) {
        for (interface, costs) in &other.interfaces {
            self.interfaces.insert(*interface, *costs);
            let source = other.sources.get_key_value(&interface.key());
            self.sources
                .extend(source.map(|(key, source)| (key.clone(), source.clone())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn parse(tables: &str) -> Result<SimMachine, String> {
        let text = SimMachine::default().to_toml().unwrap() + tables;
        SimMachine::parse(&text, Path::new("m.toml")).map_err(|fault| fault.to_string())
    }

    #[test]
    fn costs_that_an_interface_leaves_out_are_those_of_the_machine() {
        let text = "[interfaces.libaio]\nsubmission_ns = 900\n[sources]\n\"interfaces.libaio\" = \"calibrated\"";
        let machine = parse(text).unwrap();
        let libaio = machine.behind(SimInterface::Libaio).unwrap();
        assert_eq!((libaio.submission_ns, libaio.look_ns), (900, 50));
        assert_eq!(machine.submission_ns, 500);
        assert_eq!(machine.behind(SimInterface::Spdk), None);
        let again = SimMachine::parse(&machine.to_toml().unwrap(), Path::new("m.toml"));
        assert_eq!(again.unwrap(), machine);
    }

    #[test]
    fn each_interface_is_checked_as_a_machine_is() {
        for (tables, message) in [
            ("[interfaces.spdk]\nlook_ns = 0", "look_ns = 0: expected 1"),
            ("[interfaces.spdk]\nlook_ns = 0", "[interfaces.spdk]"),
            (
                "[interfaces.libaio]\ninterrupt_delay_ns = 9",
                "interrupt_delay_ns = 9: expected 2563",
            ),
            ("[interfaces.aio]\nlook_ns = 5", "unknown variant `aio`"),
            (
                "[interfaces.libaio]\nslice_ns = 5",
                "unknown field `slice_ns`",
            ),
            (
                "[sources]\n\"interfaces.spdk\" = \"stated\"",
                "source interfaces.spdk",
            ),
        ] {
            let error = parse(tables).unwrap_err();
            assert!(error.contains(message), "{tables}: {error}");
        }
    }

    #[test]
    fn costs_of_a_calibration_are_also_those_of_its_interface() {
        let machine = SimMachine::default().measured_behind(SimInterface::IoUring);
        let behind = machine.behind(SimInterface::IoUring).unwrap();
        let expected = SimMachine {
            interrupt_switch_ns: Some(1_487),
            ..SimMachine::default()
        };
        assert_eq!(behind, expected);
        machine.check().unwrap();
    }
}
