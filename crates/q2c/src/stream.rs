//! Further outputs of a live view: lines of JSON to stdout, and metrics to clients that ask for
//! them.

use crate::output::{print_json_line, say};
use clap::Args;
use q2c_model::{Fault, OrFault};
use q2c_report::prometheus::{CONTENT_TYPE, Metrics};
use q2c_result::Exit;
use q2c_result::live::{IntervalLine, SummaryLine};
use q2c_watch::endpoint::{Endpoint, PageServer};
use serde::Serialize;
use std::net::{Ipv4Addr, SocketAddr};

/// Metrics for Prometheus.
#[derive(Clone, Debug, Args)]
pub(crate) struct MetricsArgs {
    /// Serve the totals so far as metrics for Prometheus at http://ADDR/metrics, such as :9100,
    /// which is this machine alone, or 0.0.0.0:9100
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub prometheus: Option<SocketAddr>,
}

/// Parses an address to listen at. A port alone, with or without a colon, means the loopback
/// address.
fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text);
    if port.chars().all(|c| c.is_ascii_digit())
        && let Ok(port) = port.parse::<u16>()
    {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse().map_err(|_| {
        "expected a port such as :9100, or an address and a port such as 0.0.0.0:9100 or [::1]:9100"
            .to_owned()
    })
}

const PAGE_PATH: &str = "/metrics";

/// Listens for clients of metrics if an address is named, and prints the address on stderr. An
/// unusable address thus fails before the run. Clients wait until [`MetricsStream::open`].
pub(crate) fn listen(address: Option<SocketAddr>) -> Result<Option<Endpoint>, Fault> {
    let endpoint = address.map(Endpoint::bind).transpose();
    let endpoint = endpoint.or_exit(Exit::Environment)?;
    if let Some(endpoint) = &endpoint {
        let address = endpoint.address();
        say(&format!("metrics: http://{address}{PAGE_PATH}"));
    }
    Ok(endpoint)
}

pub(crate) struct MetricsStream<M: Metrics> {
    device: String,
    /// The schema of the lines of JSON; `None` if there are none.
    schema: Option<&'static str>,
    metrics: Option<(M, PageServer)>,
}

impl<M: Metrics> MetricsStream<M> {
    /// Starts to serve `metrics` if there is an endpoint. The serving thread first calls
    /// `prepare`. With a `schema` there are lines of JSON.
    pub(crate) fn open(
        device: &str,
        schema: Option<&'static str>,
        endpoint: Option<Endpoint>,
        metrics: M,
        prepare: impl FnOnce() + Send + 'static,
    ) -> Result<Self, Fault> {
        let serving = endpoint.map(|e| e.serve(PAGE_PATH, CONTENT_TYPE, metrics.page(), prepare));
        let serving = serving.transpose().or_exit(Exit::Environment)?;
        Ok(MetricsStream {
            device: device.to_owned(),
            schema,
            metrics: serving.map(|serving| (metrics, serving)),
        })
    }

    pub(crate) fn is_used(&self) -> bool {
        self.schema.is_some() || self.metrics.is_some()
    }

    /// Outputs an interval. Returns false if the reader of the lines has closed the pipe.
    pub(crate) fn tell(&mut self, interval: &M::Interval) -> Result<bool, Fault>
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

/// Prints the result of a live view as its last line. A closed pipe is not a failure.
pub(crate) fn print_summary(result: &impl Serialize) -> Result<(), Fault> {
    print_json_line(&SummaryLine::new(result)).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_for_this_machine_alone() {
        for (text, wanted) in [
            (":9100", "127.0.0.1:9100"),
            ("9100", "127.0.0.1:9100"),
            (":0", "127.0.0.1:0"),
            ("127.0.0.1:9100", "127.0.0.1:9100"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::]:9100", "[::]:9100"),
        ] {
            let parsed = address(text).map(|address| address.to_string());
            assert_eq!(parsed.as_deref(), Ok(wanted), "{text}");
        }
        for wrong in [
            "",
            ":",
            ":65536",
            "+9100",
            "127.0.0.1",
            "*:9100",
            "localhost:9100",
        ] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
