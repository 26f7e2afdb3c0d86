//! Enables the tracepoints and reads their events from the per-CPU buffers.

use super::event::{BIO_COMPLETE, EAGAIN, REQUIRED_TRACEPOINTS, Tracepoint, tracepoint_id};
use super::format::Format;
use super::instance::Instance;
use super::page::PageLayout;
use crate::ProbeError;
use crate::filter::{has_requests, packed_number};
use itertools::Itertools;
use q2c_host::block::Disk;
use q2c_trace::blktrace::{BlktraceEvent, TRACEPOINTS};
use std::fs::File;
use std::io::{ErrorKind, Read};

pub(super) struct TracepointEvent {
    pub(super) event: BlktraceEvent,
    /// True if the kernel lost events of this CPU just before this one.
    pub(super) after_gap: bool,
}

/// The tracepoints that are recorded: those of [`TRACEPOINTS`] that this kernel has and that the
/// disks need.
pub(super) struct Tracepoints {
    points: Vec<(&'static str, Tracepoint)>,
}

impl Tracepoints {
    /// Reads the formats of the tracepoints. Fails when one is missing that every recording of such
    /// disks needs.
    pub(super) fn read(instance: &Instance, disks: &[Disk]) -> Result<Tracepoints, ProbeError> {
        let any_requests = disks.iter().any(has_requests);
        let any_bios = disks.iter().any(|disk| !has_requests(disk));
        let mut points = Vec::new();
        for (name, action) in TRACEPOINTS {
            let file = format!("events/block/{name}/format");
            let needed = REQUIRED_TRACEPOINTS.contains(&name) || name == BIO_COMPLETE && any_bios;
            let is_used = match name {
                BIO_COMPLETE | "block_bio_queue" | "block_split" => true,
                _ => any_requests,
            };
            if !is_used || !needed && !instance.has(&file) {
                continue;
            }
            let format = Format::parse(&instance.read(&file)?);
            let point = Tracepoint::new(&format, action).ok_or_else(|| fields_missing(&file))?;
            points.push((name, point));
        }
        Ok(Tracepoints { points })
    }

    /// Enables the tracepoints, with a filter that lets them write events of these disks alone.
    pub(super) fn enable(&self, instance: &Instance, disks: &[Disk]) -> Result<(), ProbeError> {
        for (name, _) in &self.points {
            let is_of_bios = *name == BIO_COMPLETE;
            let mut tests = disks.iter().map(|disk| {
                // On a disk with requests the request's completion is recorded, and the bio's only
                // where it has no request: where it ended because it may not wait.
                if is_of_bios && has_requests(disk) {
                    format!("(dev == {} && error == -{EAGAIN})", packed_number(disk.dev))
                } else {
                    format!("dev == {}", packed_number(disk.dev))
                }
            });
            instance.write(&format!("events/block/{name}/filter"), &tests.join(" || "))?;
            instance.write(&format!("events/block/{name}/enable"), "1")?;
        }
        Ok(())
    }

    /// Decodes a record to its event, and to the name of the thread that queued the I/O where the
    /// record has it. `None` when the record is of another tracepoint or too short.
    pub(super) fn event(
        &self,
        time: u64,
        cpu: u32,
        record: &[u8],
    ) -> Option<(BlktraceEvent, Option<[u8; 16]>)> {
        let id = tracepoint_id(record)?;
        let (_, point) = self.points.iter().find(|(_, point)| point.id == id)?;
        Some((point.event(time, cpu, record)?, point.comm(record)))
    }
}

fn fields_missing(file: &str) -> ProbeError {
    ProbeError::Refused {
        what: format!("read {file} of tracefs"),
        why: "fields are missing that it has on the kernels known to q2c".to_owned(),
    }
}

pub(super) struct Pipes {
    pipes: Vec<(u32, File)>,
    layout: PageLayout,
    page: Vec<u8>,
    /// Pages whose lengths contradicted each other.
    pub(super) malformed: u64,
}

impl Pipes {
    pub(super) fn open(instance: &Instance, cpus: &[u32]) -> Result<Pipes, ProbeError> {
        let head = "events/header_page";
        let format = Format::parse(&instance.read(head)?);
        let layout = PageLayout::from_head(&format).ok_or_else(|| fields_missing(head))?;
        let open = |cpu: &u32| {
            let file = instance.open(&format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
            file.map(|file| (*cpu, file))
        };
        Ok(Pipes {
            pipes: cpus.iter().map(open).collect::<Result<_, _>>()?,
            layout,
            page: vec![0; layout.page_bytes()],
            malformed: 0,
        })
    }

    /// Reads all buffers until they are empty. Passes the CPU, the time in ns, whether events were
    /// lost just before, and the record to `take`. Returns the bytes of events of the CPU that had
    /// most.
    pub(super) fn read(
        &mut self,
        mut take: impl FnMut(u32, u64, bool, &[u8]),
    ) -> Result<usize, ProbeError> {
        let mut max_bytes = 0;
        for (cpu, pipe) in &mut self.pipes {
            let mut bytes = 0;
            loop {
                match pipe.read(&mut self.page) {
                    Ok(0) => break,
                    Ok(read) => {
                        let mut after_gap = self.layout.after_gap(&self.page[..read]);
                        let events = self.layout.events(&self.page[..read], |time, record| {
                            bytes += record.len() + 4;
                            take(*cpu, time, std::mem::take(&mut after_gap), record);
                        });
                        self.malformed += u64::from(events.is_err());
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(source) => {
                        let what = format!("read the events of CPU {cpu}");
                        return Err(ProbeError::Tracefs { what, source });
                    }
                }
            }
            max_bytes = max_bytes.max(bytes);
        }
        Ok(max_bytes)
    }
}
