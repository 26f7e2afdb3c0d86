//! Tasks that run together on the logical CPUs of a core: what a neighbour costs.
//!
//! [`work`] has computing tasks of five classes, and polling ones; [`pair`] runs two of
//! them on named CPUs; [`calibrate`] measures all pairs and makes the simulator's table of speeds;
//! [`run`] measures many tasks on all cores, in several placements.
pub mod calibrate;
pub mod pair;
pub mod run;
pub mod work;
