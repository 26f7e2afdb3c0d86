//! Service times and server queues of simulated devices, and the machine ([`SimMachine`]) that
//! simulated lanes run on. The crate has neither a clock nor a device: the caller passes the time
//! at which a request arrives, and waits until it is complete.
//!
//! [`ServiceTimes`] says how long a server works on a request, by its direction and length.
//! [`Draws`] are the times of one submitter's requests. [`Servers`] is the queue: it makes a
//! completion out of an arrival and a service time, and submitting threads share it. A
//! [`RequestQueue`] in front of it limits the requests in flight, as the kernel does.
//!
//! # Example
//! Two requests reach a device with one server, 10 us apart. The second one waits for 40 us.
//! ```
//! use q2c_model::{Direction, Nanos};
//! use q2c_policy::Io;
//! use q2c_service::{Draws, Servers, ServiceTimes};
//!
//! let io = Io { direction: Direction::Read, bytes: 4096 };
//! let mut draws = Draws::new(ServiceTimes::Constant(Nanos::from_micros(50)), 1);
//! let servers = Servers::new(1);
//! let mut complete = |at| servers.enqueue(Nanos::from_micros(at), draws.next(io));
//! assert_eq!(complete(100), Nanos::from_micros(150));
//! assert_eq!(complete(110), Nanos::from_micros(200));
//! ```

mod empirical;
mod interface;
mod machine;
mod measured;
mod requests;
mod servers;

pub use empirical::{
    Empirical, EmpiricalBuilder, EmpiricalClass, MAX_TIMES_PER_CLASS, Measure, NoTimes,
    RecordedFacts, RecordedTimes,
};
pub use interface::{InterfaceCosts, SimInterface};
pub use machine::{IrqPlacement, SimMachine, WakeCosts};
pub use requests::RequestQueue;
pub use servers::{Draws, Servers, ServiceTimes};
