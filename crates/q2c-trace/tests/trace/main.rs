//! Tests of the trace file, the importers and the exporters through the public interface.

#[cfg(test)]
mod any;
#[cfg(test)]
mod blktrace;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod csv;
mod csv_names;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod export;
#[cfg(test)]
mod fleet;
#[cfg(test)]
mod frame;
#[cfg(test)]
mod independent_reader;
#[cfg(test)]
mod latency_list;
#[cfg(test)]
mod public;
#[cfg(test)]
mod round_trip;
#[cfg(test)]
mod several;
#[cfg(test)]
mod speed;
#[cfg(test)]
mod summary;
#[cfg(test)]
mod support;
