use q2c_model::{Direction, Nanos};
use q2c_policy::Io;
use q2c_service::{Draws, Servers};
use q2c_sys::clock::monotonic_ns;
use q2c_sys::ublk::{Queue, UblkMemory, UblkRequest, Wish};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::time::Duration;

pub(crate) struct RamdiskService<'a> {
    pub draws: Draws,
    pub servers: &'a Servers,
}

/// Serves the queue until the kernel ends it.
pub(crate) fn run(
    mut queue: Queue,
    memory: &UblkMemory,
    mut service: Option<RamdiskService<'_>>,
) -> io::Result<()> {
    let mut new: Vec<UblkRequest> = Vec::new();
    // Requests that are served, by the time at which they are complete, with tag and result.
    let mut waiting: BinaryHeap<Reverse<(u64, u16, i32)>> = BinaryHeap::new();
    loop {
        let longest = waiting.peek().map(|Reverse((end, ..))| {
            let left = end.saturating_sub(monotonic_ns());
            Duration::from_nanos(left)
        });
        let goes_on = queue.wait(longest, &mut new)?;
        for request in new.drain(..) {
            let end = service.as_mut().and_then(|service| service.end(&request));
            let result = queue.serve(&request, memory);
            match end {
                None => queue.commit(request.tag, result)?,
                Some(end) => waiting.push(Reverse((end, request.tag, result))),
            }
        }
        let now = monotonic_ns();
        while let Some(&Reverse((end, tag, result))) = waiting.peek()
            && end <= now
        {
            waiting.pop();
            queue.commit(tag, result)?;
        }
        if !goes_on && waiting.is_empty() {
            return Ok(());
        }
    }
}

impl RamdiskService<'_> {
    /// When the request is complete; `None` for one that takes no time, such as a flush.
    fn end(&mut self, request: &UblkRequest) -> Option<u64> {
        let direction = match request.wish {
            Wish::Read => Direction::Read,
            Wish::Write => Direction::Write,
            _ => return None,
        };
        let time = self.draws.next(Io {
            direction,
            bytes: request.bytes,
        });
        Some(self.servers.arrive(Nanos(monotonic_ns()), time).0)
    }
}
