//! Finds the tasks that poll block devices, and when each last called the kernel's poll functions.
//!
//! The functions are `blk_mq_poll` (bios), `blk_hctx_poll` (also NVMe passthrough, from Linux 6.5
//! on) and `blk_poll` (until 5.15). Programs are put on those that the kernel's type information
//! has. Polling on a submission queue (SQPOLL) and in a program of the user's calls none of them.

use crate::ProbeError;
use crate::object::Object;
use crate::permission;
use q2c_host::Roots;

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/polls.bpf.o"));

/// The kernel functions that poll; each has a program of the same name.
const FUNCTIONS: [&str; 3] = ["blk_mq_poll", "blk_hctx_poll", "blk_poll"];

/// An attached probe.
pub struct Polls {
    object: Object,
    functions: Vec<&'static str>,
}

impl Polls {
    /// Begins to note which tasks poll.
    pub fn attach(roots: &Roots) -> Result<Self, ProbeError> {
        permission::check(roots)?;
        let mut object = Object::load_with(roots, OBJECT, |_loader| ())?;
        let functions = object.attach_entries(&FUNCTIONS)?;
        if !functions.is_empty() {
            return Ok(Polls { object, functions });
        }
        Err(ProbeError::Symbol {
            wanted: FUNCTIONS.join(" or "),
            path: roots.sys("kernel/btf/vmlinux"),
            found: "the kernel's type information has none of them".to_owned(),
        })
    }

    /// The functions that are watched.
    pub fn functions(&self) -> &[&'static str] {
        &self.functions
    }

    /// Tasks by thread id, with the last time at which each polled: ns of CLOCK_MONOTONIC, up to a
    /// tick of the kernel's timer (1 to 10 ms) before the true time.
    pub fn read(&self) -> Result<Vec<(u32, u64)>, ProbeError> {
        self.object.entries("polled")
    }
}
