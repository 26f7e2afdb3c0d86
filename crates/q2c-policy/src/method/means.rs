//! The means of polling: where it looks for completions.

use std::fmt;
use std::str::FromStr;

/// Where a polling thread looks, or makes the kernel look, for a completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Means {
    /// In the memory of a completion ring; the device still raises interrupts.
    Ring,
    /// The kernel asks the device (IORING_SETUP_IOPOLL).
    IoPoll,
    /// The kernel sleeps, then asks the device (IORING_SETUP_HYBRID_IOPOLL).
    IoPollHybrid,
    /// In the ring; its kernel thread asks the device (IORING_SETUP_SQPOLL).
    HelperIoPoll,
    /// In the ring; its kernel thread (IORING_SETUP_SQPOLL) sleeps, then asks the device.
    HelperIoPollHybrid,
    /// By calls of io_getevents that return at once.
    IoGetevents,
    /// Within the call that does the I/O (RWF_HIPRI).
    Call,
    /// In memory of this process: a simulated device or none.
    #[default]
    Memory,
    /// A driver in user space asks the device.
    UserSpaceDriver,
}

const TEXTS: [(Means, &str); 9] = [
    (Means::Ring, "ring"),
    (Means::IoPoll, "iopoll"),
    (Means::IoPollHybrid, "iopoll, hybrid"),
    (Means::HelperIoPoll, "ring, iopoll by helper"),
    (
        Means::HelperIoPollHybrid,
        "ring, iopoll and hybrid by helper",
    ),
    (Means::IoGetevents, "io_getevents"),
    (Means::Call, "call"),
    (Means::Memory, "memory"),
    (Means::UserSpaceDriver, "user-space driver"),
];

impl Means {
    /// The text in results: `ring`, `iopoll`, ...
    pub fn text(self) -> &'static str {
        let entry = TEXTS.iter().find(|(means, _)| *means == self);
        entry.map_or("", |(_, text)| text)
    }

    /// True if the kernel asks the device itself.
    pub fn asks_device(self) -> bool {
        !matches!(
            self,
            Means::Ring | Means::IoGetevents | Means::Memory | Means::UserSpaceDriver
        )
    }

    /// True if the kernel sleeps before it asks the device.
    pub fn sleeps(self) -> bool {
        matches!(self, Means::IoPollHybrid | Means::HelperIoPollHybrid)
    }
}

impl fmt::Display for Means {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}

impl FromStr for Means {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let entry = TEXTS.iter().find(|(_, known)| *known == text);
        let means = entry.map(|(means, _)| *means);
        means.ok_or_else(|| format!("`{text}` is no way to look for completions"))
    }
}

q2c_model::serde_as_text!(Means);
