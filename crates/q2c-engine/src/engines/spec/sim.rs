//! The text of simulated devices: `50us,queues=4,nr_requests=8`, `lognormal(50us,0.3),servers=4`,
//! `trace=FILE.parquet,time=d2c,servers=8`.

use super::super::sim::{Service, SimSpec};
use super::EngineSpec;
use super::parse::duration;
use q2c_model::parse_duration;
use q2c_service::{Measure, RecordedTimes, ServiceTimes, SimInterface};
use std::fmt::{self, Formatter};

/// The most servers of a device. Each request searches all of them for a free one.
const MAX_SERVERS: usize = 65_536;
/// The forms that service times may have, for messages.
const FORMS: &str = "a duration such as 50us, exp(MEAN), lognormal(MEDIAN,SIGMA) or trace=FILE";
/// The most hardware queues, as many as a simulated machine has CPUs, and the most requests of each
/// (`BLK_MQ_MAX_DEPTH` of Linux).
const MAX_QUEUES: usize = 4096;
const MAX_REQUESTS: usize = 10_240;
/// The options that may follow any device, then those of a recording and of a model alone.
const OPTIONS: [&str; 4] = ["servers", "queues", "nr_requests", "interface"];
const RECORDING_OPTIONS: [&str; 2] = ["time", "unit"];
const MODEL_OPTIONS: [&str; 1] = ["write"];

pub(super) fn parse(text: &str) -> Result<EngineSpec, String> {
    let (service, options) = split(text);
    let mut spec = SimSpec::new(parse_service(service)?, 1);
    let mut options = options.split(',').filter(|_| !options.is_empty());
    options.try_for_each(|option| set_option(&mut spec, option))?;
    Ok(EngineSpec::Sim(spec))
}

/// Splits a text into service times and their options. A comma within brackets splits nothing.
fn split(text: &str) -> (&str, &str) {
    let behind_bracket = text.find(')').map_or(0, |at| at + 1);
    match text[behind_bracket..].split_once(',') {
        Some((times, options)) => (&text[..behind_bracket + times.len()], options),
        None => (text, ""),
    }
}

fn parse_service(text: &str) -> Result<Service, String> {
    match text.strip_prefix("trace=") {
        Some(path) => recorded(path),
        None => parse_model(text).map(Service::Model),
    }
}

fn parse_model(text: &str) -> Result<ServiceTimes, String> {
    let arguments = |model: &str| {
        let in_brackets = text.strip_prefix(model)?;
        in_brackets.strip_prefix('(')?.strip_suffix(')')
    };
    if let Some(mean) = arguments("exp").or_else(|| text.strip_prefix("exp=")) {
        return Ok(ServiceTimes::Exponential(duration(mean)?));
    }
    match (arguments("lognormal"), text.strip_prefix("lognormal=")) {
        (Some(arguments), _) => lognormal(arguments.split_once(',')),
        (None, Some(arguments)) => lognormal(arguments.split_once('/')),
        (None, None) => constant(arguments("constant").unwrap_or(text)),
    }
}

fn constant(text: &str) -> Result<ServiceTimes, String> {
    let message = |e: &dyn fmt::Display| match text.split_once(['=', '(']) {
        None => format!("{e}; service times are {FORMS}"),
        Some((name, _)) => {
            let near = nearest(name, &["constant", "exp", "lognormal", "trace"]);
            format!("there is no model `{name}`, the nearest is {near}; service times are {FORMS}")
        }
    };
    let time = parse_duration(text).map_err(|e| message(&e))?;
    Ok(ServiceTimes::Constant(time))
}

fn lognormal(arguments: Option<(&str, &str)>) -> Result<ServiceTimes, String> {
    let (median, sigma) = arguments.ok_or("expected lognormal(MEDIAN,SIGMA)")?;
    let sigma: Option<f64> = sigma.parse().ok().filter(|s: &f64| (0.0..=5.0).contains(s));
    Ok(ServiceTimes::Lognormal {
        median: duration(median)?,
        sigma: sigma.ok_or("sigma must lie between 0 and 5")?,
    })
}

fn recorded(path: &str) -> Result<Service, String> {
    if path.is_empty() {
        return Err("expected trace=FILE, found no file".to_owned());
    }
    Ok(Service::Recorded(RecordedTimes {
        path: path.into(),
        measure: None,
        unit: None,
    }))
}

fn set_option(spec: &mut SimSpec, option: &str) -> Result<(), String> {
    let (name, value) = option.split_once('=').unwrap_or((option, ""));
    match (name, &mut spec.service) {
        ("servers", _) => spec.servers = count(name, value, MAX_SERVERS)?,
        ("queues", _) => spec.queues = count(name, value, MAX_QUEUES)?,
        ("nr_requests", _) => spec.nr_requests = Some(count(name, value, MAX_REQUESTS)?),
        ("interface", _) => {
            let known = value.parse().ok().filter(|_| spec.interface.is_none());
            let names = SimInterface::ALL.map(|interface| interface.to_string());
            let wrong = || {
                let names = names.join(", ");
                format!("interface must be one of {names}, and given once")
            };
            spec.interface = Some(known.ok_or_else(wrong)?);
        }
        ("write", Service::Model(ServiceTimes::ByDirection(_))) => {
            return Err("write may be given once".to_owned());
        }
        ("write", Service::Model(times)) => {
            let by_direction = [times.clone(), parse_model(value)?];
            *times = ServiceTimes::ByDirection(by_direction.into());
        }
        ("time", Service::Recorded(times)) => {
            let known = Measure::ALL.into_iter().find(|known| known.name() == value);
            times.measure = Some(known.ok_or("time must be d2c or u2c")?);
        }
        ("unit", Service::Recorded(times)) => match value {
            "ns" | "us" | "ms" | "s" => times.unit = Some(value.to_owned()),
            _ => return Err("unit must be ns, us, ms or s".to_owned()),
        },
        ("time" | "unit", Service::Model(_)) => {
            return Err(format!("{name} belongs to recorded times: trace=FILE"));
        }
        (_, service) => {
            let more = match service {
                Service::Recorded(_) => &RECORDING_OPTIONS[..],
                Service::Model(_) => &MODEL_OPTIONS,
            };
            let known = [&OPTIONS, more].concat();
            let (options, nearest) = (known.join(", "), nearest(name, &known));
            return Err(format!(
                "`{option}` is none of its options: {options}; the nearest is {nearest}"
            ));
        }
    }
    Ok(())
}

fn count(name: &str, text: &str, max: usize) -> Result<usize, String> {
    let count = text.parse().ok().filter(|n| (1..=max).contains(n));
    count.ok_or_else(|| format!("{name} must be a whole number from 1 to {max}"))
}

/// The name with the smallest edit distance to `text`.
fn nearest<'a>(text: &str, names: &[&'a str]) -> &'a str {
    let distance = |name: &&&str| strsim::levenshtein(name, text);
    names.iter().min_by_key(distance).expect("a name")
}

fn model_text(times: &ServiceTimes) -> String {
    match times {
        ServiceTimes::Constant(time) => format!("{}ns", time.0),
        ServiceTimes::Exponential(mean) => format!("exp={}ns", mean.0),
        ServiceTimes::Lognormal { median, sigma } => format!("lognormal={}ns/{sigma}", median.0),
        ServiceTimes::Sequence(times) => format!("list of {}", times.len()),
        ServiceTimes::Empirical(_) => "recorded times".to_owned(),
        ServiceTimes::ByDirection(times) => {
            let [reads, writes] = times.each_ref().map(model_text);
            format!("{reads},write={writes}")
        }
    }
}

pub(super) fn write(f: &mut Formatter<'_>, spec: &SimSpec) -> fmt::Result {
    match &spec.service {
        Service::Recorded(times) => write!(f, "sim:{times}")?,
        Service::Model(times) => write!(f, "sim:{}", model_text(times))?,
    }
    write!(f, ",servers={}", spec.servers)?;
    if spec.queues > 1 {
        write!(f, ",queues={}", spec.queues)?;
    }
    let requests = spec.nr_requests.map(|n| format!(",nr_requests={n}"));
    f.write_str(&requests.unwrap_or_default())?;
    let interface = spec.interface.map(|name| format!(",interface={name}"));
    f.write_str(&interface.unwrap_or_default())
}
