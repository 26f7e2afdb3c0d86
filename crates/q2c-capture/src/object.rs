//! Loads and attaches BPF programs, and puts their errors into words.

use crate::lock_waits::Function;
use crate::symbols::Symbols;
use crate::{ProbeError, permission};
use aya::maps::{HashMap, Map, MapData, PerCpuArray, PerCpuValues, StackTraceMap};
use aya::programs::perf_event::{
    HardwareEvent, PerfEventConfig, PerfEventScope, SamplePolicy, SoftwareEvent,
};
use aya::programs::{FEntry, KProbe, PerfEvent, Program, ProgramError, RawTracePoint};
use aya::{Btf, BtfError, Ebpf, EbpfLoader, Pod};
use itertools::Itertools;
use q2c_host::Roots;
use q2c_model::{CpuId, DevId};
use std::error::Error;
use std::fs;
use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd};

/// A compiled BPF object whose maps are made; its programs are loaded and attached one by one.
/// Dropping it removes all of them from the kernel.
pub(crate) struct Object {
    pub ebpf: Ebpf,
    roots: Roots,
}

impl Object {
    /// Makes an object's maps for one device. `set` sets further constants.
    pub(crate) fn load<'a>(
        roots: &Roots,
        bytes: &[u8],
        device: &'a DevId,
        set: impl FnOnce(&mut EbpfLoader<'a>),
    ) -> Result<Object, ProbeError> {
        Self::load_with(roots, bytes, |loader| {
            loader.override_global("wanted_major", &device.major, /* must_exist */ true);
            loader.override_global("wanted_minor", &device.minor, /* must_exist */ true);
            set(loader);
        })
    }

    /// Makes an object's maps for programs that watch the threads of this process.
    pub(crate) fn load_for_process(roots: &Roots, bytes: &[u8]) -> Result<Object, ProbeError> {
        let pid = std::process::id();
        Self::load_with(roots, bytes, |loader| {
            loader.override_global("wanted_pid", &pid, /* must_exist */ true);
        })
    }

    /// Makes an object's maps. `set` sets the program's constants and the sizes of its maps first.
    pub(crate) fn load_with<'a>(
        roots: &Roots,
        bytes: &[u8],
        set: impl FnOnce(&mut EbpfLoader<'a>),
    ) -> Result<Object, ProbeError> {
        permission::raise_memlock(roots);
        let mut loader = EbpfLoader::new();
        set(&mut loader);
        let ebpf = loader.load(bytes);
        let ebpf = ebpf.map_err(|e| refusal(roots, "make the maps of a BPF program", &e))?;
        let roots = roots.clone();
        Ok(Object { ebpf, roots })
    }

    pub(crate) fn attach_functions(
        &mut self,
        program: &str,
        functions: &[&str],
    ) -> Result<(), ProbeError> {
        let tried = format!("load the BPF program {program}");
        let probe: &mut KProbe = program_named(&mut self.ebpf, program);
        probe.load().map_err(|e| refusal(&self.roots, &tried, &e))?;
        for function in functions {
            let tried = format!("put a probe on the kernel function {function}");
            let attached = probe.attach(function, 0);
            attached.map_err(|e| refusal(&self.roots, &tried, &e))?;
        }
        Ok(())
    }

    /// Loads a program, unless it is loaded already, and puts it on a tracepoint. Returns false
    /// when the tracepoint has fewer arguments than the program reads: the kernel refuses to attach
    /// it then.
    pub(crate) fn try_attaching(&mut self, program: &str, point: &str) -> Result<bool, ProbeError> {
        let tried = format!("load the BPF program {program}");
        let probe: &mut RawTracePoint = program_named(&mut self.ebpf, program);
        match probe.load() {
            // A program may be on several tracepoints; it is loaded with the first.
            Ok(()) | Err(ProgramError::AlreadyLoaded) => {}
            Err(error) => return Err(refusal(&self.roots, &tried, &error)),
        }
        match probe.attach(point) {
            Ok(_) => Ok(true),
            Err(ProgramError::SyscallError(e)) if e.io_error.kind() == ErrorKind::InvalidInput => {
                Ok(false)
            }
            Err(error) => {
                let tried = format!("put a probe on the tracepoint {point}");
                Err(refusal(&self.roots, &tried, &error))
            }
        }
    }

    /// Like [`Object::try_attaching`], but a tracepoint with fewer arguments is an error, because
    /// nothing would ever be counted.
    pub(crate) fn attach_tracepoint(
        &mut self,
        program: &str,
        point: &str,
    ) -> Result<(), ProbeError> {
        if self.try_attaching(program, point)? {
            return Ok(());
        }
        let what = format!("put a probe on the tracepoint {point}");
        let reason = "it has fewer arguments than on the kernels known to q2c".to_owned();
        Err(ProbeError::Refused { what, why: reason })
    }

    /// Loads programs that have the names of kernel functions, and puts each on the entry of its
    /// function. Returns the names that the kernel's type information has; the others are left out.
    pub(crate) fn attach_entries<'f>(
        &mut self,
        functions: &[&'f str],
    ) -> Result<Vec<&'f str>, ProbeError> {
        let types = Btf::from_sys_fs();
        let types = types.map_err(|e| refusal(&self.roots, "read the kernel's types", &e))?;
        let mut attached = Vec::new();
        for function in functions {
            if self.attach_entry(function, &types)? {
                attached.push(*function);
            }
        }
        Ok(attached)
    }

    fn attach_entry(&mut self, function: &str, types: &Btf) -> Result<bool, ProbeError> {
        let probe: &mut FEntry = program_named(&mut self.ebpf, function);
        match probe.load(function, types) {
            Ok(()) => {}
            Err(ProgramError::Btf(BtfError::UnknownBtfTypeName { .. })) => return Ok(false),
            Err(error) => {
                let tried = format!("load the BPF program {function}");
                return Err(refusal(&self.roots, &tried, &error));
            }
        }
        let tried = format!("put a probe on the entry of the kernel function {function}");
        let attached = probe.attach();
        attached.map_err(|e| refusal(&self.roots, &tried, &e))?;
        Ok(true)
    }

    /// Loads a program, and runs it `hertz` times per second on each CPU while its cycle counter
    /// counts. Returns false if the processor, or its virtual machine, has no such counter.
    pub(crate) fn sample_cycles(
        &mut self,
        program: &str,
        cpus: &[CpuId],
        hertz: u64,
    ) -> Result<bool, ProbeError> {
        let cycles = PerfEventConfig::Hardware(HardwareEvent::CpuCycles);
        match self.attach_counter(program, cycles, cpus, hertz) {
            Ok(()) => Ok(true),
            Err(ProgramError::SyscallError(e)) if has_no_counter(&e.io_error) => Ok(false),
            Err(error) => Err(refusal(&self.roots, "count the cycles of the CPUs", &error)),
        }
    }

    /// Like [`Object::sample_cycles`], but by the kernel's clock of each CPU, which always exists.
    pub(crate) fn sample_cpu_clock(
        &mut self,
        program: &str,
        cpus: &[CpuId],
        hertz: u64,
    ) -> Result<(), ProbeError> {
        let clock = PerfEventConfig::Software(SoftwareEvent::CpuClock);
        let attached = self.attach_counter(program, clock, cpus, hertz);
        attached.map_err(|error| refusal(&self.roots, "use the clocks of the CPUs", &error))
    }

    fn attach_counter(
        &mut self,
        program: &str,
        counter: PerfEventConfig,
        cpus: &[CpuId],
        hertz: u64,
    ) -> Result<(), ProgramError> {
        let probe: &mut PerfEvent = program_named(&mut self.ebpf, program);
        match probe.load() {
            // The program may have been tried on another counter.
            Ok(()) | Err(ProgramError::AlreadyLoaded) => {}
            Err(error) => return Err(error),
        }
        for cpu in cpus {
            let scope = PerfEventScope::AllProcessesOneCpu { cpu: cpu.0 };
            probe.attach(counter, scope, SamplePolicy::Frequency(hertz), false)?;
        }
        Ok(())
    }

    /// Takes a program off its tracepoints and out of the kernel. A program that is not loaded is
    /// left alone.
    pub(crate) fn unload(&mut self, program: &str) {
        let probe: &mut RawTracePoint = program_named(&mut self.ebpf, program);
        probe.unload().ok();
    }

    /// Like [`Object::unload`], for all tracepoint programs of the object.
    pub(crate) fn unload_all(&mut self) {
        for (_, program) in self.ebpf.programs_mut() {
            if let Program::RawTracePoint(probe) = program {
                probe.unload().ok();
            }
        }
    }

    /// How often the kernel skipped a run of one of the loaded programs, because a program was
    /// already at work on that CPU. `None` where the kernel does not count skipped runs (until
    /// Linux 5.11).
    pub(crate) fn misses(&self) -> Option<u64> {
        let programs = self.ebpf.programs();
        let loaded = programs.filter_map(|(_, program)| program.fd().ok());
        let misses = loaded.map(|fd| {
            let file = format!("self/fdinfo/{}", fd.as_fd().as_raw_fd());
            parse_misses(&fs::read_to_string(self.roots.proc(&file)).ok()?)
        });
        misses.sum()
    }

    /// Puts an error into words. `tried` names what was tried; a possible reason is added when
    /// permission was denied.
    pub(crate) fn refusal(&self, tried: &str, error: &dyn Error) -> ProbeError {
        refusal(&self.roots, tried, error)
    }

    pub(crate) fn map(&self, name: &str) -> &Map {
        self.ebpf.map(name).expect("a map of the object")
    }

    /// The value that a map holds for each CPU.
    pub(crate) fn per_cpu<V: Pod>(&self, name: &str) -> Result<PerCpuValues<V>, ProbeError> {
        let map = PerCpuArray::<&MapData, V>::try_from(self.map(name));
        let values = map.and_then(|map| map.get(&0, 0));
        values.map_err(|error| self.unreadable_map(&error))
    }

    /// The sum of a count over all CPUs.
    pub(crate) fn sum(&self, name: &str) -> Result<u64, ProbeError> {
        Ok(self.per_cpu::<u64>(name)?.iter().sum())
    }

    /// The entries of a map. An entry that is replaced during the walk may be left out; the next
    /// walk finds it.
    pub(crate) fn entries<K: Pod, V: Pod, C: FromIterator<(K, V)>>(
        &self,
        name: &str,
    ) -> Result<C, ProbeError> {
        let map = HashMap::<&MapData, K, V>::try_from(self.map(name));
        let map = map.map_err(|error| self.unreadable_map(&error))?;
        Ok(map.iter().filter_map(Result::ok).collect())
    }

    /// Returns a closure that finds the functions of a stack, the innermost first, by the number
    /// under which a program stored the stack.
    pub(crate) fn stacks(
        &self,
        symbols: &Symbols,
    ) -> Result<impl Fn(u32) -> Vec<Function>, ProbeError> {
        let stacks = StackTraceMap::try_from(self.map("stacks"));
        let stacks = stacks.map_err(|error| self.unreadable_map(&error))?;
        Ok(move |id| {
            let stack = stacks.get(&id, 0).ok();
            let frames = stack.iter().flat_map(|stack| stack.frames());
            let functions = frames.filter_map(|frame| symbols.function_at(frame.ip));
            functions.collect()
        })
    }

    pub(crate) fn unreadable_map(&self, error: &dyn Error) -> ProbeError {
        refusal(&self.roots, "read a map of a BPF program", error)
    }
}

/// The program of this name in the object. `P` must be the kind that the program's ELF section
/// names.
fn program_named<'a, P>(ebpf: &'a mut Ebpf, name: &str) -> &'a mut P
where
    &'a mut P: TryFrom<&'a mut Program>,
{
    let program = ebpf.program_mut(name).and_then(|p| p.try_into().ok());
    program.expect("the object compiled with this crate has the program")
}

/// Reads `recursion_misses:`, a tab and the number from a program's fdinfo.
fn parse_misses(info: &str) -> Option<u64> {
    let mut lines = info.lines();
    let value = lines.find_map(|line| line.strip_prefix("recursion_misses:"));
    value?.trim().parse().ok()
}

/// `ENOENT`, `ENODEV` or `EOPNOTSUPP`: the kernel knows the counter, and this machine has none.
fn has_no_counter(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::NOENT | Errno::NODEV | Errno::OPNOTSUPP))
}

/// Puts an error and the chain of its sources into words. A source whose message is there already
/// is left out. When a source is a denied permission, the possible reasons are added.
fn refusal(roots: &Roots, tried: &str, error: &dyn Error) -> ProbeError {
    let mut reason = error.to_string();
    let mut denied = false;
    let mut next = error.source();
    while let Some(source) = next {
        let message = source.to_string();
        if !reason.contains(&message) {
            reason += &format!(": {message}");
        }
        let io = source.downcast_ref::<std::io::Error>();
        denied |= io.is_some_and(|e| e.kind() == ErrorKind::PermissionDenied);
        next = source.source();
    }
    if denied {
        reason += &format!(" ({})", permission::hints(roots));
    }
    ProbeError::Refused {
        what: tried.to_owned(),
        why: reason.split_whitespace().join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misses_of_a_program() {
        let info =
            "pos:\t0\nprog_type:\t17\nrun_cnt:\t0\nrecursion_misses:\t12\nverified_insns:\t35\n";
        assert_eq!(parse_misses(info), Some(12));
        assert_eq!(parse_misses("pos:\t0\nprog_type:\t17\n"), None);
    }
}
