//! Loads the scheduler into the kernel.

use super::log::{incompatible, last_messages, unresolved};
use super::{Report, ScxError, check, is_in_force, log, settings};
use crate::map::SmtMap;
use crate::rules::Rules;
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, OpenObject};
use q2c_host::Roots;
use q2c_model::Nanos;
use std::io::{Error, ErrorKind};
use std::time::{Duration, Instant};

/// The BPF object as `build.rs` compiled it.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/q2c.bpf.o"));

/// The longest time that the kernel may take until the scheduler is in force.
const PATIENCE: Duration = Duration::from_secs(5);

/// The scheduler in force. The kernel's own scheduler takes over when this value is dropped.
pub struct Scheduler {
    object: Object,
    roots: Roots,
    /// The scheduler is in force, and its probes are on, as long as these live.
    links: Vec<Link>,
}

impl Scheduler {
    /// Loads the scheduler for these cores. Tasks that polled within a window count as polling.
    ///
    /// # Errors
    /// The kernel has no sched_ext or refuses it; the error says which of the known reasons it is.
    pub fn begin(
        roots: &Roots,
        map: &SmtMap,
        window: Nanos,
        rules: Rules,
    ) -> Result<Scheduler, ScxError> {
        check(roots)?;
        log::start_collecting();
        let refused = |error| load_error(roots, &error, &log::take_messages());
        let settings = settings::bytes(map, window.0, rules);
        let mut scheduler = Scheduler {
            object: load(roots, settings.as_deref()).map_err(refused)?,
            roots: roots.clone(),
            links: Vec::new(),
        };
        scheduler.attach().map_err(refused)?;
        scheduler.wait_until_in_force()?;
        Ok(scheduler)
    }

    fn attach(&mut self) -> Result<(), libbpf_rs::Error> {
        for mut map in self.object.maps_mut() {
            if map.name() == super::NAME {
                self.links.push(map.attach_struct_ops()?);
            }
        }
        for program in self.object.progs_mut() {
            let name = program.name().to_string_lossy();
            if name.starts_with("blk_") && program.autoload() {
                self.links.push(program.attach()?);
            }
        }
        Ok(())
    }

    fn wait_until_in_force(&self) -> Result<(), ScxError> {
        let begun = Instant::now();
        while !is_in_force(&self.roots) {
            if let Some(ended) = self.report().and_then(|report| report.exit) {
                return Err(ScxError::Ended(ended));
            }
            if begun.elapsed() > PATIENCE {
                let reason = format!("it was not in force after {} s", PATIENCE.as_secs());
                return Err(ScxError::Refused(reason));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// The scheduler's counts and its exit; `None` if they cannot be read.
    pub(crate) fn report(&self) -> Option<Report> {
        let mut maps = self.object.maps();
        let map = maps.find(|map| map.name() == ".data.report")?;
        let bytes = map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok()??;
        Report::read(&bytes)
    }

    /// Checks that the scheduler is still in force.
    ///
    /// # Errors
    /// The kernel ended it.
    pub fn check(&self) -> Result<Report, ScxError> {
        let report = self.report().unwrap_or_default();
        match report.exit {
            Some(ended) => Err(ScxError::Ended(ended)),
            None => Ok(report),
        }
    }
}

fn load(roots: &Roots, settings: Option<&[u8]>) -> Result<Object, libbpf_rs::Error> {
    let mut open = ObjectBuilder::default()
        .name(super::NAME)?
        .open_memory(OBJECT)?;
    configure(&mut open, settings)?;
    let types = kernel_types(roots);
    for mut program in open.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        // A function that the kernel's type information does not name cannot be watched.
        if name.starts_with("blk_") && !has_name(&types, &name) {
            program.set_autoload(false);
        }
    }
    open.load()
}

fn kernel_types(roots: &Roots) -> Vec<u8> {
    std::fs::read(roots.sys("kernel/btf/vmlinux")).unwrap_or_default()
}

fn has_name(types: &[u8], name: &str) -> bool {
    let wanted = [b"\0", name.as_bytes(), b"\0"].concat();
    types.windows(wanted.len()).any(|window| window == wanted)
}

fn configure(open: &mut OpenObject, settings: Option<&[u8]>) -> Result<(), libbpf_rs::Error> {
    let invalid = |what: &str| libbpf_rs::Error::from(Error::new(ErrorKind::InvalidInput, what));
    let bytes = settings.ok_or_else(|| invalid("the machine has more than 1024 CPUs"))?;
    let mut maps = open.maps_mut();
    let settings_map = maps.find(|map| map.name() == ".rodata.settings");
    let mut settings_map = settings_map.ok_or_else(|| invalid("the object has no settings"))?;
    let value = settings_map.initial_value_mut();
    let value = value.filter(|value| value.len() == bytes.len());
    let value = value.ok_or_else(|| invalid("the object's settings have another size"))?;
    value.copy_from_slice(bytes);
    Ok(())
}

fn load_error(roots: &Roots, error: &libbpf_rs::Error, messages: &str) -> ScxError {
    let mut malformed = incompatible(messages);
    // libbpf also reports a weak function as missing if only its prototype does not fit.
    let types = kernel_types(roots);
    let (existing, missing): (Vec<_>, Vec<_>) = unresolved(messages)
        .into_iter()
        .partition(|name| has_name(&types, name));
    malformed.extend(existing);
    malformed.sort();
    malformed.dedup();
    if !malformed.is_empty() {
        return ScxError::Malformed(malformed.join(", "));
    }
    if !missing.is_empty() {
        return ScxError::MissingFunctions(missing.join(", "));
    }
    // 524 is the kernel's ENOTSUPP.
    if error.to_string().contains("524") || messages.contains("error: -524") {
        return ScxError::NoJit;
    }
    let last = last_messages(messages);
    ScxError::Refused(if last.is_empty() {
        error.to_string()
    } else {
        format!("{error} ({last})")
    })
}
