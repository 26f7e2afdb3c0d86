//! Results in a terminal: compact tables, 100 columns and up read best.

mod bench;
mod doctor;
mod screen;
mod sweep;
mod table;
mod tune;
mod watch;

pub use bench::bench;
pub use doctor::doctor;
pub use screen::Screen;
pub use sweep::sweep;
pub use tune::tune;
pub use watch::{GAUGES, Gauge, watch, watch_head, watch_line};
