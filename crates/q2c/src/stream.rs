//! What a live view hands over beside its screen or its lines: lines of JSON to stdout, and metrics
//! to whoever asks for them.

use crate::output::{print_json_line, say};
use q2c_endpoint::{Endpoint, Serving};
use q2c_model::{Fault, OrFault};
use q2c_report::prometheus::{CONTENT_TYPE, Metrics};
use q2c_result::Exit;
use q2c_result::live::{IntervalLine, SummaryLine};
use serde::Serialize;
use std::net::SocketAddr;

const PATH: &str = "/metrics";

/// Listens for those who ask for metrics, if an address is named, and says on stderr where. They
/// wait until [`Stream::open`]. An address that cannot be had costs no run so.
pub fn listen(address: Option<SocketAddr>) -> Result<Option<Endpoint>, Fault> {
    let Some(address) = address else {
        return Ok(None);
    };
    let endpoint = Endpoint::bind(address).or_exit(Exit::Environment)?;
    say(&format!("metrics: http://{}{PATH}", endpoint.address()));
    Ok(Some(endpoint))
}

pub struct Stream<M: Metrics> {
    device: String,
    /// The schema of the lines of JSON; `None` where there are none.
    schema: Option<&'static str>,
    metrics: Option<(M, Serving)>,
}

impl<M: Metrics> Stream<M> {
    /// Begins to serve `metrics`, where something listens. `begin` is called in the thread that
    /// serves them. With a `schema` there are lines of JSON.
    pub fn open(
        device: &str,
        schema: Option<&'static str>,
        endpoint: Option<Endpoint>,
        metrics: M,
        begin: impl FnOnce() + Send + 'static,
    ) -> Result<Self, Fault> {
        let metrics = match endpoint {
            None => None,
            Some(endpoint) => {
                let serving = endpoint.serve(PATH, CONTENT_TYPE, metrics.page(), begin);
                Some((metrics, serving.or_exit(Exit::Environment)?))
            }
        };
        Ok(Stream {
            device: device.to_owned(),
            schema,
            metrics,
        })
    }

    pub fn wants(&self) -> bool {
        self.schema.is_some() || self.metrics.is_some()
    }

    /// Hands an interval over. Returns false when the reader of the lines has closed the pipe.
    pub fn tell(&mut self, interval: &M::Interval) -> Result<bool, Fault>
    where
        M::Interval: Serialize,
    {
        if let Some((metrics, serving)) = &mut self.metrics {
            metrics.add(interval);
            serving.publish(metrics.page());
        }
        match self.schema {
            Some(schema) => print_json_line(&IntervalLine::new(schema, &self.device, interval)),
            None => Ok(true),
        }
    }
}

/// Prints the result of a live view as its last line. It is no failure when the reader has closed
/// the pipe.
pub fn print_summary(result: &impl Serialize) -> Result<(), Fault> {
    print_json_line(&SummaryLine::new(result)).map(|_| ())
}
