use crate::pattern::Pattern;
use q2c_model::{Bytes, CpuId};

/// The arguments of one run on one controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpdkArgs {
    /// PCI address of the controller, such as `0000:04:00.0`.
    pub address: String,
    /// Access pattern. One that writes overwrites the device.
    pub pattern: Pattern,
    /// Bytes per request.
    pub bs: Bytes,
    /// Requests in flight for each CPU and namespace.
    pub depth: u32,
    /// Length of the run, seconds.
    pub seconds: u64,
    /// CPUs of the program; it has one polling thread on each.
    pub cpus: Vec<CpuId>,
}

impl SpdkArgs {
    pub(super) fn words(&self) -> Vec<String> {
        let cpus: Vec<String> = self.cpus.iter().map(|cpu| cpu.0.to_string()).collect();
        let pairs = [
            ("-q", self.depth.to_string()),
            ("-o", self.bs.0.to_string()),
            ("-w", self.pattern.to_string()),
            ("-t", self.seconds.to_string()),
            // A list stands in brackets; without them it would be a mask.
            ("-c", format!("[{}]", cpus.join(","))),
            ("-r", format!("trtype:PCIe traddr:{}", self.address)),
        ];
        let mut arguments: Vec<String> = pairs
            .into_iter()
            .flat_map(|(flag, value)| [flag.to_owned(), value])
            .collect();
        // Prints percentiles of the latency.
        arguments.push("-L".to_owned());
        arguments
    }
}
