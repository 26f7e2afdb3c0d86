//! What `spdk_nvme_perf` is asked to do.

use crate::pattern::Pattern;
use q2c_model::{Bytes, CpuId};

/// One run on one controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpdkArgs {
    /// The controller's PCI address, as `0000:04:00.0`.
    pub address: String,
    /// Access pattern; a writing one overwrites the device.
    pub pattern: Pattern,
    /// Bytes per request.
    pub bs: Bytes,
    /// Requests in flight per CPU and namespace.
    pub depth: u32,
    /// How long.
    pub seconds: u64,
    /// One polling thread on each.
    pub cpus: Vec<CpuId>,
}

impl SpdkArgs {
    /// The words of the command line.
    pub(super) fn words(&self) -> Vec<String> {
        let cpus: Vec<String> = self.cpus.iter().map(|cpu| cpu.0.to_string()).collect();
        let pairs = [
            ("-q", self.depth.to_string()),
            ("-o", self.bs.0.to_string()),
            ("-w", self.pattern.to_string()),
            ("-t", self.seconds.to_string()),
            // A list in brackets; the other form is a mask.
            ("-c", format!("[{}]", cpus.join(","))),
            ("-r", format!("trtype:PCIe traddr:{}", self.address)),
        ];
        let mut words: Vec<String> = pairs
            .into_iter()
            .flat_map(|(flag, value)| [flag.to_owned(), value])
            .collect();
        // Percentiles.
        words.push("-L".to_owned());
        words
    }
}
