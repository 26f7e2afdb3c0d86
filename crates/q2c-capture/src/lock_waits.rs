//! Adds up how long the threads of this process waited for locks of the kernel, by the code that
//! wanted them (tracepoints `lock:contention_begin` and `lock:contention_end`, Linux 5.19).

use crate::ProbeError;
use crate::object::Object;
use crate::permission;
use crate::symbols::Symbols;
use aya::maps::{HashMap, MapData, PerCpuArray, StackTraceMap};
use q2c_host::Roots;
use std::process;

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/lock_waits.bpf.o"));

/// Waits for locks of one kind from one stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockWait {
    /// The functions of the stack, the innermost first: those of tracing and of locks, then the one
    /// that wanted the lock, then its callers. With the name of its module, if it is in one.
    pub stack: Vec<Function>,
    /// `LCB_F_...` of the kernel's include/trace/events/lock.h.
    pub flags: u32,
    /// Number of waits.
    pub waits: u64,
    /// Their time, summed up, ns.
    pub ns: u64,
}

/// A function of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The module that it is in; `None` for the kernel itself.
    pub module: Option<String>,
}

/// What the probe saw.
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

/// The program's `struct site`: the stack, with the flags in the upper half.
type LockStackKey = u64;
/// The program's `struct waited`: waits, and their time, ns.
type Waited = [u64; 2];

impl LockWaits {
    /// Begins to watch the threads of this process.
    pub fn attach(roots: &Roots) -> Result<Self, ProbeError> {
        permission::check(roots)?;
        let symbols = Symbols::read(roots)?;
        let pid = process::id();
        let mut object = Object::load_with(roots, OBJECT, |loader| {
            loader.override_global("wanted_pid", &pid, true);
        })?;
        object.on_known_tracepoint("contention_end", "contention_end")?;
        object.on_known_tracepoint("contention_begin", "contention_begin")?;
        Ok(LockWaits { object, symbols })
    }

    /// What was seen since the probe was attached. Waits that have not ended are not in it.
    pub fn read(&self) -> Result<LockWaitCounts, ProbeError> {
        let map = |name| self.object.map(name);
        let read = || {
            let waited = HashMap::<&MapData, LockStackKey, Waited>::try_from(map("waited"))?;
            let stacks = StackTraceMap::try_from(map("stacks"))?;
            let lost = PerCpuArray::<&MapData, u64>::try_from(map("lost"))?.get(&0, 0)?;
            let wait = |(site, [waits, ns]): (LockStackKey, Waited)| {
                let stack = stacks.get(&(site as u32), 0).ok();
                let frames = stack.iter().flat_map(|stack| stack.frames());
                LockWait {
                    stack: frames
                        .filter_map(|frame| self.symbols.function_at(frame.ip))
                        .collect(),
                    flags: (site >> 32) as u32,
                    waits,
                    ns,
                }
            };
            Ok(LockWaitCounts {
                waits: waited.iter().filter_map(Result::ok).map(wait).collect(),
                lost: lost.iter().sum(),
            })
        };
        read().map_err(|error: aya::maps::MapError| self.object.unread(&error))
    }
}
