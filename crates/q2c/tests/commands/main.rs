//! Tests of the built program from outside: what it prints, what it leaves behind and its exit
//! code.

#[cfg(test)]
mod analyze;
#[cfg(test)]
mod bench;
mod bench_background;
#[cfg(test)]
mod bench_fio;
#[cfg(test)]
mod bench_stages;
#[cfg(test)]
mod blktrace;
#[cfg(test)]
mod btt;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod config;
#[cfg(test)]
mod corpus;
mod cpu_trials;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod fs;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod live;
#[cfg(test)]
mod place;
#[cfg(test)]
mod poll;
#[cfg(test)]
mod poll_block;
#[cfg(test)]
mod poll_kernel;
#[cfg(test)]
mod program;
#[cfg(test)]
mod ramdisk;
#[cfg(test)]
mod record;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod report;
#[cfg(test)]
mod reproduce;
#[cfg(test)]
mod reproduce_list;
mod run_costs;
mod runs;
mod scale;
#[cfg(test)]
mod simulated;
mod study;
mod sweep;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod trace;
#[cfg(test)]
mod trace_export;
#[cfg(test)]
mod tune_program;
#[cfg(test)]
mod watch;
