//! Finds out if io_uring can poll a target's device (IOPOLL), and so the path that an engine takes
//! to it.

use q2c_engine::engine::{EngineError, Operation, Request};
use q2c_engine::engines::RingKind;
use q2c_engine::{EngineSpec, Medium};
use q2c_model::{Bytes, Exit, Fault};
use q2c_result::Target;
use std::io;
use thiserror::Error;

/// Fewest bytes of the read that tests IOPOLL.
const MIN_READ_BYTES: u32 = 4096;

/// `Ok` if io_uring can poll the device. The error continues "IOPOLL cannot be had: ".
pub type IopollSupport = Result<(), String>;

/// Why a single read by an engine gave no data.
#[derive(Debug, Error)]
pub enum EngineReadError {
    /// The engine could not be opened, or broke.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The read came back with an errno.
    #[error("read {length} bytes: {source}{}", cause.map_or(String::new(), |cause| format!("; {cause}")))]
    Failed {
        /// Length of the read, bytes.
        length: u32,
        /// The errno.
        source: io::Error,
        /// The meaning of the errno with the engine's options.
        cause: Option<&'static str>,
    },
}

/// Reads the first `length` bytes of the medium by an engine, on the path on which it polls.
pub fn try_read(engine: &EngineSpec, medium: &Medium, length: u32) -> Result<(), EngineReadError> {
    let mut open = engine.open(medium, 1, length as usize, 1)?;
    let read = Request {
        operation: Operation::Read,
        offset: 0,
        length,
        slot: 0,
    };
    open.submit(&[read])?;
    let result = open.wait()?.result;
    if result >= 0 {
        return Ok(());
    }
    Err(EngineReadError::Failed {
        length,
        source: io::Error::from_raw_os_error(-result),
        cause: open.facts().cause(result),
    })
}

/// Finds out if a ring of this kind can poll the device of `target`: if that has poll queues, and
/// one read by IOPOLL succeeds. A kernel that accepts IOPOLL but completes by interrupts passes.
/// The counts of interrupts show such a kernel later.
pub(crate) fn iopoll_support(kind: RingKind, medium: &Medium, target: &Target) -> IopollSupport {
    let Some(device) = &target.device else {
        return Err("there is no device of the kernel behind the target".to_owned());
    };
    let name = &device.name;
    match device.io_poll {
        Some(true) => {}
        Some(false) => {
            return Err(format!(
                "queue/io_poll of {name} is 0: it has no poll queues (for NVMe load the driver with poll_queues=N)"
            ));
        }
        None => return Err(format!("{name} has no queue/io_poll, so no poll queues")),
    }
    let block = device.logical_block.map_or(0, |block| block.0 as u32);
    let engine = EngineSpec::ByDevice(kind).with_path(true);
    let read = try_read(&engine, medium, MIN_READ_BYTES.max(block));
    read.map_err(|error| format!("{name} has poll queues, but {engine} failed to {error}"))
}

/// Returns the engine on the device's path; an error if it asks for polling that is impossible.
pub(crate) fn settle(engine: EngineSpec, polling: &IopollSupport) -> Result<EngineSpec, Fault> {
    match polling {
        Err(reason) if engine.needs_poll_queues() => {
            let text = format!(
                "use {engine}: IOPOLL cannot be had: {reason}; leave iopoll out to take the path that there is"
            );
            Err(Fault::new(Exit::Target, text))
        }
        _ => Ok(engine.with_path(polling.is_ok())),
    }
}

/// Why this engine cannot poll for requests of `bs`; `None` if it can, and for engines that do not
/// poll the device. `unsplit` is the largest request that the device takes unsplit.
///
/// The block layer does not poll for the parts of a split request; they complete by interrupts.
/// From Linux 6.2 on, and in 6.1.7, it refuses to split a polled request, and io_uring's workers
/// retry forever (`bio_split_rw` in block/blk-merge.c).
pub fn too_large(engine: &EngineSpec, bs: Bytes, unsplit: Option<Bytes>) -> Option<String> {
    let max_bytes = unsplit.filter(|&max_bytes| bs > max_bytes && engine.needs_poll_queues())?;
    Some(format!(
        "{engine} cannot poll for requests of {bs}: on this device the block layer may split what is larger than {max_bytes} \
         (queue/max_sectors_kb and max_segments), and nobody polls for the parts; use blocks of {max_bytes} or less, or \
         io_uring:ring"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::Device;

    fn target(io_poll: Option<bool>) -> Target {
        Target {
            device: Some(Device {
                name: "nvme0n1".to_owned(),
                io_poll,
                ..Device::default()
            }),
            ..Target::default()
        }
    }

    fn spec(text: &str) -> EngineSpec {
        text.parse().unwrap()
    }

    #[test]
    fn a_device_without_poll_queues_is_not_polled_and_the_reason_is_told() {
        for (target, phrase) in [
            (Target::default(), "no device of the kernel"),
            (target(Some(false)), "io_poll of nvme0n1 is 0"),
            (target(None), "no queue/io_poll"),
            // The device claims that it can be polled, but the read by IOPOLL fails.
            (target(Some(true)), "io_uring:iopoll failed to"),
        ] {
            let reason = iopoll_support(RingKind::File, &Medium::None, &target).unwrap_err();
            assert!(reason.contains(phrase), "{reason}");
        }
    }

    #[test]
    fn an_engine_takes_the_path_that_there_is_or_is_refused_by_name() {
        let refused: IopollSupport = Err("io_poll is 0".to_owned());
        let settled = |text: &str, polling: &IopollSupport| {
            let engine = settle(spec(text), polling).map_err(|e| e.to_string());
            engine.map(|engine| engine.to_string())
        };
        for (text, with, without) in [
            ("io_uring", "io_uring:iopoll", Some("io_uring:ring")),
            ("io_uring:ring", "io_uring:ring", Some("io_uring:ring")),
            ("io_uring:iopoll", "io_uring:iopoll", None),
            (
                "io_uring_cmd",
                "io_uring_cmd:iopoll",
                Some("io_uring_cmd:ring"),
            ),
            ("io_uring_cmd:iopoll", "io_uring_cmd:iopoll", None),
            ("libaio", "libaio", Some("libaio")),
        ] {
            assert_eq!(settled(text, &Ok(())).unwrap(), with);
            match (settled(text, &refused), without) {
                (Ok(engine), Some(wanted)) => assert_eq!(engine, wanted),
                (Err(reason), None) => assert!(reason.contains("io_poll is 0"), "{reason}"),
                (actual, wanted) => panic!("{text}: {actual:?}, wanted {wanted:?}"),
            }
        }
    }

    #[test]
    fn a_request_that_would_be_split_is_not_polled_for() {
        let max_bytes = Some(Bytes(256 << 10));
        let refused = |engine: &str, kib: u64, max_bytes| {
            too_large(&spec(engine), Bytes(kib << 10), max_bytes).is_some()
        };
        assert!(refused("io_uring:iopoll", 512, max_bytes));
        assert!(refused("fault:eio@9:io_uring:iopoll", 257, max_bytes));
        assert!(!refused("io_uring:iopoll", 256, max_bytes));
        assert!(!refused("io_uring:ring", 512, max_bytes));
        assert!(!refused("pvsync2:hipri", 512, max_bytes));
        assert!(!refused("io_uring:iopoll", 512, None));
    }
}
