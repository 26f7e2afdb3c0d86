//! Counts where in the kernel the CPU time of this process's threads goes: by the processor's cycle
//! counter, or by a timer of each CPU where it has none (as in most virtual machines).

use crate::lock_waits::Function;
use crate::object::Object;
use crate::symbols::Symbols;
use crate::{ProbeError, permission};
use q2c_host::{Roots, machine};

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/cpu_profile.bpf.o"));

/// Samples per second of CPU time: a prime number, so that it keeps no step with timers.
pub(crate) const HERTZ: u64 = 997;

/// The counter that triggers samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampledBy {
    /// The processor's cycle counter.
    Cycles,
    /// The kernel's clock of each CPU.
    CpuClock,
}

/// Samples with one stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackSamples {
    /// The functions of the kernel, the innermost first.
    pub stack: Vec<Function>,
    /// Number of samples.
    pub samples: u64,
}

/// The samples since the probe was attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuProfileCounts {
    /// The source of the samples.
    pub by: SampledBy,
    /// Samples in the kernel, by stack.
    pub kernel: Vec<StackSamples>,
    /// Samples outside of the kernel.
    pub user: u64,
    /// Samples for which the probe had no room.
    pub lost: u64,
}

/// An attached probe.
pub struct CpuProfile {
    object: Object,
    symbols: Symbols,
    by: SampledBy,
}

impl CpuProfile {
    /// Begins to watch the threads of this process on all CPUs.
    pub fn attach(roots: &Roots) -> Result<Self, ProbeError> {
        permission::check(roots)?;
        let symbols = Symbols::read(roots)?;
        let mut object = Object::load_for_process(roots, OBJECT)?;
        let cpus = machine::online(roots);
        let by = if object.sample_cycles("sample", &cpus, HERTZ)? {
            SampledBy::Cycles
        } else {
            object.sample_cpu_clock("sample", &cpus, HERTZ)?;
            SampledBy::CpuClock
        };
        Ok(CpuProfile {
            object,
            symbols,
            by,
        })
    }

    /// The samples since the probe was attached.
    pub fn read(&self) -> Result<CpuProfileCounts, ProbeError> {
        let samples: Vec<(u32, u64)> = self.object.entries("samples")?;
        let stack = self.object.stacks(&self.symbols)?;
        let with_stack = |(id, samples)| StackSamples {
            stack: stack(id),
            samples,
        };
        Ok(CpuProfileCounts {
            by: self.by,
            kernel: samples.into_iter().map(with_stack).collect(),
            user: self.object.sum("user")?,
            lost: self.object.sum("lost")?,
        })
    }
}
