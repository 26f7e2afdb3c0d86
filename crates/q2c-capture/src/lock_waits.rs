//! Adds up how long the threads of this process waited for locks of the kernel, by the code that
//! wanted them (tracepoints `lock:contention_begin` and `lock:contention_end`, Linux 5.19).

use crate::ProbeError;
use crate::object::Object;
use crate::permission;
use crate::symbols::Symbols;
use q2c_host::Roots;

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/lock_waits.bpf.o"));

/// Waits for locks of one kind from one stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockWait {
    /// The functions of the stack, the innermost first: those of tracing and of locks, then the one
    /// that wanted the lock, then its callers.
    pub stack: Vec<Function>,
    /// `LCB_F_...` of the kernel's include/trace/events/lock.h.
    pub flags: u32,
    /// Number of waits.
    pub waits: u64,
    /// Sum of the lengths of these waits, ns.
    pub ns: u64,
}

/// A function of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Function {
    /// The function's name.
    pub name: String,
    /// The module that it is in; `None` for the kernel itself.
    pub module: Option<String>,
}

/// The waits since the probe was attached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockWaitCounts {
    /// Waits by stack and kind of lock.
    pub waits: Vec<LockWait>,
    /// Waits for which the probe had no room.
    pub lost: u64,
}

/// An attached probe.
pub struct LockWaits {
    object: Object,
    symbols: Symbols,
}

impl LockWaits {
    /// Begins to watch the threads of this process.
    pub fn attach(roots: &Roots) -> Result<Self, ProbeError> {
        permission::check(roots)?;
        let symbols = Symbols::read(roots)?;
        let mut object = Object::load_for_process(roots, OBJECT)?;
        object.attach_tracepoint("contention_end", "contention_end")?;
        object.attach_tracepoint("contention_begin", "contention_begin")?;
        Ok(LockWaits { object, symbols })
    }

    /// The waits since the probe was attached. Waits that have not ended are not in it.
    pub fn read(&self) -> Result<LockWaitCounts, ProbeError> {
        // The program's `struct site`: the stack, with the flags in the upper half. Its `struct
        // waited`: waits, and their time, ns.
        let waited: Vec<(u64, [u64; 2])> = self.object.entries("waited")?;
        let stack = self.object.stacks(&self.symbols)?;
        let wait = |(site, [waits, ns]): (u64, [u64; 2])| LockWait {
            stack: stack(site as u32),
            flags: (site >> 32) as u32,
            waits,
            ns,
        };
        Ok(LockWaitCounts {
            waits: waited.into_iter().map(wait).collect(),
            lost: self.object.sum("lost")?,
        })
    }
}
