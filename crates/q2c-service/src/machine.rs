//! The simulated machine: how many CPUs it has, and what each step of an I/O costs there.

use crate::{InterfaceCosts, SimInterface};
use q2c_model::{Exit, Fault, OrFault};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The machine that simulated lanes run on. Times are in nanoseconds on a CPU of speed 1; they do
/// not depend on the machine that simulates.
///
/// One I/O of a polling lane of depth 1 takes `turnaround + submission + wait` where `wait` is the
/// service time, rounded up to a whole number of looks. An I/O by interrupt waits
/// `service + interrupt_delay`; a sleep of `t` lasts `t + wake_delay`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimMachine {
    /// A short name of the machine, or of the real one that it stands for.
    #[serde(default)]
    pub name: String,
    /// Number of cores.
    pub cores: u32,
    /// Number of threads (CPUs) of each core.
    #[serde(default = "single")]
    pub threads: u32,
    /// Number of NUMA nodes, each an equal block of successive cores.
    #[serde(default = "single")]
    pub nodes: u32,
    /// Speed of the CPUs: all costs are divided by it.
    #[serde(default = "normal_speed")]
    pub speed: f64,
    /// Time slice: after it, a thread gives its CPU to a thread that waits for that CPU.
    pub slice_ns: u64,
    /// CPU time of a submission. The request reaches the device at its end.
    pub submission_ns: u64,
    /// Time for which each submission holds the lock, or cache line, that all submitters share; 0
    /// without one. They spin for it: first come, first served.
    #[serde(default)]
    pub lock_ns: u64,
    /// Time until a submitter that had to wait for the lock has it.
    #[serde(default)]
    pub handover_ns: u64,
    /// Time that is added where the lock was last held on another node.
    #[serde(default)]
    pub remote_ns: u64,
    /// CPU time from the reaping of a completion to the next submission.
    pub turnaround_ns: u64,
    /// CPU time of one look for completions. It finds the requests that are complete at its end.
    pub look_ns: u64,
    /// CPU time that a thread takes to leave its CPU and to come back.
    pub switch_ns: u64,
    /// CPU time of a timer's interrupt.
    pub timer_ns: u64,
    /// Time from the end of a timed sleep until the thread runs, timer and switch included.
    pub wake_delay_ns: u64,
    /// The same delay where the completion comes before the thread runs; `None` if it is no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub miss_delay_ns: Option<u64>,
    /// CPU time of the switch where the completion comes before; `None` if it is no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub miss_switch_ns: Option<u64>,
    /// CPU time of the device's interrupt, on the CPU that `irq` names.
    pub interrupt_ns: u64,
    /// Time from the device's completion until the waiting thread has reaped it, interrupt and
    /// switch included.
    pub interrupt_delay_ns: u64,
    /// CPU time that a thread takes to leave its CPU and to come back by an interrupt; `None` for
    /// that of a timed sleep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupt_switch_ns: Option<u64>,
    /// The CPUs that take the device's interrupts.
    #[serde(default)]
    pub irq: IrqPlacement,
    /// Speed of a thread's steps while a thread on a sibling CPU does its own.
    #[serde(default = "compute_beside_compute")]
    pub compute_beside_compute: f64,
    /// Speed of a thread's steps while a thread on a sibling CPU polls.
    #[serde(default = "compute_beside_polling")]
    pub compute_beside_polling: f64,
    /// Costs of interfaces that differ from these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub interfaces: BTreeMap<SimInterface, InterfaceCosts>,
    /// Sources of values, by key: `stated`, `calibrated` or `fitted to ...`. A value without one is
    /// stated.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, String>,
}

/// The costs of a wake-up, ns. The delay contains the handler and the switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WakeCosts {
    /// Time from the cause until the thread runs.
    pub delay_ns: u64,
    /// CPU time of the interrupt.
    pub handler_ns: u64,
    /// CPU time that the thread takes to leave its CPU and to come back.
    pub switch_ns: u64,
}

impl WakeCosts {
    /// The least delay with this handler and this switch.
    fn least_ns(self) -> u64 {
        self.handler_ns.saturating_add(self.switch_ns)
    }

    /// Time from the cause until the switch begins.
    pub fn before_switch_ns(self) -> u64 {
        self.delay_ns - self.switch_ns
    }
}

/// The CPUs that take a device's interrupts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IrqPlacement {
    /// The CPU of the thread that waits.
    #[default]
    Submitter,
    /// All CPUs in turn.
    Spread,
}

const fn compute_beside_compute() -> f64 {
    0.625
}

/// A thread needs 17 % less time beside one that polls than beside one that computes.
const fn compute_beside_polling() -> f64 {
    0.625 / 0.83
}

const fn normal_speed() -> f64 {
    1.0
}

const fn single() -> u32 {
    1
}

/// Most CPUs of a simulated machine.
pub(crate) const MOST_CPUS: u32 = 4096;
/// The slowest and the fastest speed.
const SPEEDS: (f64, f64) = (0.01, 100.0);
/// The highest value of a time, one second.
const MOST_NS: u64 = 1_000_000_000;

impl Default for SimMachine {
    /// The program's own machine, on which `sim:` targets are measured: eight cores with costs near
    /// those of a server of 2020. A switch and an interrupt cost what EHP was calibrated on
    /// (1.487 us and 1.076 us).
    fn default() -> Self {
        SimMachine {
            name: "q2c's own machine".to_owned(),
            cores: 8,
            threads: 1,
            nodes: 1,
            speed: 1.0,
            slice_ns: 3_000_000,
            submission_ns: 500,
            lock_ns: 0,
            handover_ns: 0,
            remote_ns: 0,
            turnaround_ns: 100,
            look_ns: 50,
            switch_ns: 1_487,
            timer_ns: 500,
            wake_delay_ns: 2_500,
            miss_delay_ns: None,
            miss_switch_ns: None,
            interrupt_switch_ns: None,
            interrupt_ns: 1_076,
            interrupt_delay_ns: 3_000,
            irq: IrqPlacement::Submitter,
            compute_beside_compute: compute_beside_compute(),
            compute_beside_polling: compute_beside_polling(),
            interfaces: BTreeMap::new(),
            sources: BTreeMap::new(),
        }
    }
}

impl SimMachine {
    /// A machine whose steps cost nothing, so that all time is the device's.
    #[must_use]
    pub fn free() -> Self {
        SimMachine {
            name: "a machine whose steps take no time".to_owned(),
            submission_ns: 0,
            turnaround_ns: 0,
            look_ns: 1,
            switch_ns: 0,
            timer_ns: 0,
            wake_delay_ns: 0,
            interrupt_ns: 0,
            interrupt_delay_ns: 0,
            ..SimMachine::default()
        }
    }

    /// True if no step that a thread waits for costs anything, as on [`SimMachine::free`].
    pub fn is_free(&self) -> bool {
        // A delay contains the interrupt, the timer and the switch.
        let sum = self.submission_ns + self.lock_ns + self.wake_delay_ns + self.interrupt_delay_ns;
        sum == 0 && self.interfaces.is_empty()
    }

    /// Reads a machine from the text of the TOML file `path`. Its keys are the names of the fields.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Fault> {
        let machine = toml::from_str(text);
        let tried = format_args!("understand the simulated machine {}", path.display());
        let mut machine: SimMachine = machine.or_fault(Exit::Input, tried)?;
        if machine.name.is_empty() {
            machine.name = path.display().to_string();
        }
        machine.check().map(|()| machine)
    }

    /// The text that [`SimMachine::parse`] reads.
    pub fn to_toml(&self) -> Result<String, Fault> {
        let tried = format_args!("write the simulated machine {}", self.name);
        toml::to_string(self).or_fault(Exit::Internal, tried)
    }

    /// q2c's own machine with other values: the keys of a file in one line, as
    /// `cores=120,threads=2,nodes=4` or `cores=8,interfaces.libaio.submission_ns=600`.
    pub fn from_list(list: &str) -> Result<Self, Fault> {
        let tried = format_args!("understand the simulated machine {list}");
        let mut values =
            toml::Table::try_from(SimMachine::default()).or_fault(Exit::Input, tried)?;
        let mut named_keys = Vec::new();
        for part in list.split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            if named_keys.contains(&key) {
                return Err(Fault::input(format!(
                    "{tried}: expected {key} once, found it twice"
                )));
            }
            named_keys.push(key);
            insert_at(&mut values, key, list_value(value)).map_err(|name| {
                Fault::input(format!("{tried}: expected a table {name}, found a value"))
            })?;
        }
        let machine = values.try_into();
        let mut machine: SimMachine = machine.or_fault(Exit::Input, tried)?;
        if !named_keys.contains(&"name") {
            machine.name += &format!(" with {list}");
        }
        machine.check().map(|()| machine)
    }

    /// The end of a timed sleep before the completion.
    pub fn timed_wake(&self) -> WakeCosts {
        WakeCosts {
            delay_ns: self.wake_delay_ns,
            handler_ns: self.timer_ns,
            switch_ns: self.switch_ns,
        }
    }

    /// The end of a timed sleep of which the completion came before the wake-up.
    pub fn missed_wake(&self) -> WakeCosts {
        WakeCosts {
            delay_ns: self.miss_delay_ns.unwrap_or(self.wake_delay_ns),
            switch_ns: self.miss_switch_ns.unwrap_or(self.switch_ns),
            ..self.timed_wake()
        }
    }

    /// The wake-up by the interrupt of a completion.
    pub fn interrupt_wake(&self) -> WakeCosts {
        WakeCosts {
            delay_ns: self.interrupt_delay_ns,
            handler_ns: self.interrupt_ns,
            switch_ns: self.interrupt_switch_ns.unwrap_or(self.switch_ns),
        }
    }

    /// Number of CPUs. As on x86, the first threads of all cores come first, then the second ones.
    pub fn cpus(&self) -> u32 {
        self.cores * self.threads
    }

    /// The core of a CPU.
    pub fn core_of(&self, cpu: u32) -> u32 {
        cpu % self.cores
    }

    /// The NUMA node of a CPU.
    pub fn node_of(&self, cpu: u32) -> u32 {
        self.core_of(cpu) / (self.cores / self.nodes)
    }

    /// Checks that every value is in its range.
    pub fn check(&self) -> Result<(), Fault> {
        let range = |name, value: f64, least: f64, most: f64| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            let text =
                format!("simulate a machine with {name} = {value}: expected {least} to {most}");
            Err(Fault::new(Exit::Input, text))
        };
        range("cores", self.cores.into(), 1.0, MOST_CPUS.into())?;
        range(
            "threads",
            self.threads.into(),
            1.0,
            (MOST_CPUS / self.cores).into(),
        )?;
        range("nodes", self.nodes.into(), 1.0, self.cores.into())?;
        if !self.cores.is_multiple_of(self.nodes) {
            let (cores, nodes) = (self.cores, self.nodes);
            return Err(Fault::input(format!(
                "simulate a machine with cores = {cores} and nodes = {nodes}: expected nodes of equal size"
            )));
        }
        range("speed", self.speed, SPEEDS.0, SPEEDS.1)?;
        for (name, speed) in [
            ("compute_beside_compute", self.compute_beside_compute),
            ("compute_beside_polling", self.compute_beside_polling),
        ] {
            range(name, speed, SPEEDS.0, 1.0)?;
        }
        if self.lock_ns == 0 && self.handover_ns + self.remote_ns > 0 {
            let text = "simulate a machine with handover_ns or remote_ns: expected lock_ns above 0, found 0";
            return Err(Fault::input(text));
        }
        self.check_sources()?;
        for (name, ns, least) in self.times_with_minimum() {
            range(name, ns as f64, least as f64, MOST_NS as f64)?;
        }
        for &interface in self.interfaces.keys() {
            let checked = self
                .behind(interface)
                .map_or(Ok(()), |machine| machine.check());
            checked.map_err(|fault| fault.with_advice(&format!(" in [{}]", interface.key())))?;
        }
        Ok(())
    }

    fn check_sources(&self) -> Result<(), Fault> {
        let keys = toml::Table::try_from(self);
        let keys = keys.or_fault(Exit::Input, "list the keys of a simulated machine")?;
        for (key, source) in &self.sources {
            let is_known = source == "stated" || source == "calibrated";
            let is_value = keys.get(key).is_some_and(|value| !value.is_table());
            let is_key = is_value || self.interfaces.keys().any(|i| i.key() == *key);
            if !is_key || !(is_known || source.starts_with("fitted to ")) {
                return Err(Fault::input(format!(
                    "simulate a machine with the source {key} = {source:?}: expected the name of a key, and stated, \
                     calibrated or fitted to ..."
                )));
            }
        }
        Ok(())
    }

    /// The keys by source, except for stated ones.
    pub fn keys_by_source(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut keys: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (key, source) in self
            .sources
            .iter()
            .filter(|(_, source)| *source != "stated")
        {
            keys.entry(source).or_default().push(key);
        }
        keys
    }

    /// Name, value and smallest allowed value of every time. A look must take time, so that a lane
    /// that looks makes progress.
    fn times_with_minimum(&self) -> [(&'static str, u64, u64); 15] {
        let missed = self.missed_wake();
        let interrupted = self.interrupt_wake();
        [
            ("slice_ns", self.slice_ns, 10_000),
            ("submission_ns", self.submission_ns, 0),
            ("lock_ns", self.lock_ns, 0),
            ("handover_ns", self.handover_ns, 0),
            ("remote_ns", self.remote_ns, 0),
            ("turnaround_ns", self.turnaround_ns, 0),
            ("look_ns", self.look_ns, 1),
            ("switch_ns", self.switch_ns, 0),
            ("timer_ns", self.timer_ns, 0),
            (
                "wake_delay_ns",
                self.wake_delay_ns,
                self.timed_wake().least_ns(),
            ),
            ("miss_switch_ns", missed.switch_ns, 0),
            ("miss_delay_ns", missed.delay_ns, missed.least_ns()),
            ("interrupt_ns", self.interrupt_ns, 0),
            ("interrupt_switch_ns", interrupted.switch_ns, 0),
            (
                "interrupt_delay_ns",
                interrupted.delay_ns,
                interrupted.least_ns(),
            ),
        ]
    }

    /// The machine with all costs divided by its speed, and with a speed of 1.
    #[must_use]
    pub fn at_speed(&self) -> Self {
        let cost = |ns: u64| (ns as f64 / self.speed).round() as u64;
        SimMachine {
            speed: 1.0,
            submission_ns: cost(self.submission_ns),
            // A lock of 0 ns is none.
            lock_ns: cost(self.lock_ns).max(self.lock_ns.min(1)),
            handover_ns: cost(self.handover_ns),
            remote_ns: cost(self.remote_ns),
            turnaround_ns: cost(self.turnaround_ns),
            look_ns: cost(self.look_ns).max(1),
            switch_ns: cost(self.switch_ns),
            timer_ns: cost(self.timer_ns),
            wake_delay_ns: cost(self.wake_delay_ns),
            miss_delay_ns: self.miss_delay_ns.map(cost),
            miss_switch_ns: self.miss_switch_ns.map(cost),
            interrupt_switch_ns: self.interrupt_switch_ns.map(cost),
            interrupt_ns: cost(self.interrupt_ns),
            interrupt_delay_ns: cost(self.interrupt_delay_ns),
            ..self.clone()
        }
    }
}

/// Inserts a value where the key leads, by tables whose names dots separate. The error is the name
/// of a table that is none.
fn insert_at<'k>(table: &mut toml::Table, key: &'k str, value: toml::Value) -> Result<(), &'k str> {
    let Some((name, rest)) = key.split_once('.') else {
        table.insert(key.to_owned(), value);
        return Ok(());
    };
    let new = || toml::Value::Table(toml::Table::new());
    let inner = table.entry(name).or_insert_with(new).as_table_mut();
    insert_at(inner.ok_or(name)?, rest, value)
}

/// A value of a list: a number if it is one, else a text.
fn list_value(text: &str) -> toml::Value {
    let whole = text.parse().map(toml::Value::Integer);
    let number = whole.or_else(|_| text.parse().map(toml::Value::Float));
    number.unwrap_or_else(|_| toml::Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_names_of_the_fields_and_is_checked() {
        let text = toml::to_string(&SimMachine::default()).unwrap();
        let read =
            |text: String| SimMachine::parse(&text, Path::new("m.toml")).map_err(|e| e.to_string());
        assert_eq!(read(text.clone()), Ok(SimMachine::default()));
        for (from, to, message) in [
            ("cores = 8", "cores = 0", "cores = 0: expected 1 to 4096"),
            (
                "threads = 1",
                "threads = 600",
                "threads = 600: expected 1 to 512",
            ),
            ("nodes = 1", "nodes = 3", "nodes of equal size"),
            ("speed = 1.0", "speed = 0.0", "speed = 0: expected 0.01"),
            ("look_ns = 50", "look_ns = 0", "look_ns = 0: expected 1"),
            ("look_ns = 50", "look = 50", "unknown field `look`"),
            (
                "wake_delay_ns = 2500",
                "wake_delay_ns = 100",
                "wake_delay_ns = 100: expected 1987",
            ),
            (
                "submission_ns = 500",
                "submission_ns = 2000000000",
                "submission_ns = 2000000000",
            ),
        ] {
            let error = read(text.replace(from, to)).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn each_value_has_a_source() {
        let text = toml::to_string(&SimMachine::default()).unwrap();
        let with = |sources: &str| {
            let text = format!("{text}[sources]\n{sources}\n");
            let machine = SimMachine::parse(&text, Path::new("m.toml"));
            let keys = |m: SimMachine| format!("{:?}", m.keys_by_source());
            machine.map(keys).map_err(|e| e.to_string())
        };
        let sources =
            "look_ns = \"calibrated\"\nlock_ns = \"fitted to runs/5\"\ncores = \"stated\"";
        let listed = r#"{"calibrated": ["look_ns"], "fitted to runs/5": ["lock_ns"]}"#;
        assert_eq!(with(sources).unwrap(), listed);
        for wrong in ["look = \"stated\"", "look_ns = \"guessed\""] {
            assert!(with(wrong).unwrap_err().contains("source look"), "{wrong}");
        }
    }

    /// Two threads on each of six cores, three cores on each of two nodes.
    #[test]
    fn cpus_are_numbered_as_on_x86() {
        let machine = SimMachine::from_list("cores=6,threads=2,nodes=2").unwrap();
        let cpus: Vec<u32> = (0..machine.cpus()).collect();
        let cores: Vec<u32> = cpus.iter().map(|&cpu| machine.core_of(cpu)).collect();
        assert_eq!(cores, [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]);
        let nodes: Vec<u32> = cpus.iter().map(|&cpu| machine.node_of(cpu)).collect();
        assert_eq!(nodes, [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn a_list_changes_the_keys_that_it_names() {
        let list = |text| SimMachine::from_list(text).map_err(|e| e.to_string());
        let named = list("cores=120,speed=1.5,name=server").unwrap();
        let by_hand = SimMachine {
            cores: 120,
            speed: 1.5,
            name: "server".to_owned(),
            ..SimMachine::default()
        };
        assert_eq!(named, by_hand);
        let costly = list("cores=2,interfaces.libaio.submission_ns=600").unwrap();
        let costs = costly.interfaces[&SimInterface::Libaio].submission_ns;
        assert_eq!((costly.cores, costs), (2, Some(600)));
        for (text, message) in [
            ("cores=120,core=3", "unknown field `core`"),
            ("cores=1,cores=2", "cores once"),
            ("cores=many", "invalid type"),
            ("cores", "invalid type"),
            ("cores=0", "cores = 0"),
            ("cores=2,nodes=4", "nodes = 4: expected 1 to 2"),
            ("handover_ns=5", "lock_ns above 0"),
            ("cores.first=3", "expected a table cores"),
            ("irq=all", "unknown variant `all`"),
            ("compute_beside_polling=2", "expected 0.01 to 1"),
        ] {
            let error = list(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn a_machine_of_twice_the_speed_has_half_the_costs() {
        let fast = SimMachine {
            speed: 2.0,
            ..SimMachine::default()
        };
        let costs = fast.at_speed();
        assert_eq!((costs.submission_ns, costs.look_ns), (250, 25));
        assert_eq!((costs.slice_ns, costs.speed), (3_000_000, 1.0));
    }
}
