//! `pvsync2`: `preadv2` and `pwritev2`. A submission is the whole I/O, so it returns when the
//! request is complete.
//!
//! A request that RWF_NOWAIT turns away comes back with EAGAIN, as in fio's engine of that name. It
//! counts as failed, and is not tried again without the flag.

use super::memory::{Memory, duplicate};
use crate::engine::{Engine, EngineError, EngineFacts, Request, RingCompletion, Waits};
use q2c_policy::method::Means;
use q2c_sys::{Vectored, VectoredFlags};
use std::fs::File;
use std::sync::LazyLock;

/// The engine: calls on a file or device, one after another.
pub struct Pvsync2 {
    calls: Vectored,
    flags: VectoredFlags,
    /// Finished requests in the order of the calls; those before index `next` have been taken.
    done: Vec<RingCompletion>,
    next: usize,
}

impl Pvsync2 {
    pub(crate) fn open(
        file: &File,
        memory: Memory,
        flags: VectoredFlags,
    ) -> Result<Self, EngineError> {
        Ok(Pvsync2 {
            calls: Vectored::new(duplicate(file)?, memory.buffers()?, flags),
            flags,
            done: Vec::with_capacity(memory.slots),
            next: 0,
        })
    }

    #[inline]
    fn pop(&mut self) -> Option<RingCompletion> {
        let done = self.done.get(self.next).copied()?;
        self.next += 1;
        if self.next == self.done.len() {
            self.done.clear();
            self.next = 0;
        }
        Some(done)
    }

    #[inline]
    fn push(&mut self, done: RingCompletion) {
        if self.done.len() == self.done.capacity() {
            // Requests in flight fit into the capacity, so there is room at the front.
            self.done.drain(..self.next);
            self.next = 0;
        }
        self.done.push(done);
    }
}

impl Engine for Pvsync2 {
    #[inline]
    fn submit(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        for &request in requests {
            let done = self.calls.transfer(request);
            self.push(done);
        }
        Ok(())
    }

    #[inline]
    fn poll(&mut self) -> Result<Option<RingCompletion>, EngineError> {
        Ok(self.pop())
    }

    #[inline]
    fn wait(&mut self) -> Result<RingCompletion, EngineError> {
        let done = self.pop();
        Ok(done.expect("a request is in flight, as the contract says"))
    }

    fn facts(&self) -> EngineFacts {
        EngineFacts {
            polls_by: Means::Call,
            waits: Waits::Never,
            flags: names(self.flags),
            sleeps_undisturbed: true,
            ..EngineFacts::default()
        }
    }
}

type FlagField = fn(&mut VectoredFlags) -> &mut bool;

/// Each flag: its name as an option of the engine, its name in the kernel, its field.
pub(super) const FLAGS: [(&str, &str, FlagField); 5] = [
    ("hipri", "RWF_HIPRI", |flags| &mut flags.hipri),
    ("nowait", "RWF_NOWAIT", |flags| &mut flags.nowait),
    ("dsync", "RWF_DSYNC", |flags| &mut flags.dsync),
    ("sync", "RWF_SYNC", |flags| &mut flags.sync),
    ("append", "RWF_APPEND", |flags| &mut flags.append),
];

/// The names of every possible set of flags, indexed by its bits in the order of [`FLAGS`].
static JOINED_NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let names_in_set = |set: usize| {
        let flags = FLAGS.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
        let names: Vec<_> = flags.map(|(_, (_, name, _))| *name).collect();
        names.join("|")
    };
    (0..1 << FLAGS.len()).map(names_in_set).collect()
});

fn names(mut flags: VectoredFlags) -> &'static str {
    let bits = FLAGS.iter().enumerate();
    let set: usize = bits
        .map(|(i, (.., flag))| usize::from(*flag(&mut flags)) << i)
        .sum();
    &JOINED_NAMES[set]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_named() {
        let mut flags = VectoredFlags::default();
        assert_eq!(names(flags), "");
        (flags.hipri, flags.append) = (true, true);
        assert_eq!(names(flags), "RWF_HIPRI|RWF_APPEND");
    }
}
