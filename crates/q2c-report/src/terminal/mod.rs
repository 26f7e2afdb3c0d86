//! Results in a terminal, as compact tables. They are best read at 100 columns or more.

mod analyze;
mod bench;
mod btt;
mod compare;
mod doctor;
mod kernel_tune;
mod kernel_watch;
mod live;
mod ramdisk;
mod replay;
mod said;
mod scale;
mod screen;
mod sim;
mod sweep;
mod table;
mod tune;
mod tune_jobs;
mod watch;

pub use analyze::analyze;
pub use bench::bench;
pub use btt::btt;
pub use compare::compare;
pub use doctor::doctor;
pub use kernel_tune::kernel_tune;
pub use kernel_watch::{kernel_watch_head, kernel_watch_line};
pub use live::{live, live_head, live_line};
pub use ramdisk::ram_devices;
pub use replay::replay;
pub use scale::scale;
pub use screen::Screen;
pub use sim::sim;
pub use sweep::sweep;
pub use tune::tune;
pub use tune_jobs::tune_jobs;
pub use watch::{GAUGES, Gauge, LATE_GAUGES, watch, watch_head, watch_late_line, watch_line};
