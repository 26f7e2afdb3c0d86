//! Results whose pages have no questions of their own in a browser, but must be readable.

#[path = "../fixture/fs.rs"]
pub mod fs;
#[path = "../fixture/kernel_tune.rs"]
pub mod kernel_tune;
#[path = "../fixture/place.rs"]
pub mod place;
#[path = "../fixture/poll_search.rs"]
pub mod poll_search;
#[path = "../fixture/poll_study.rs"]
pub mod poll_study;
#[path = "../fixture/reproduce.rs"]
pub mod reproduce;
#[path = "../fixture/scale.rs"]
pub mod scale;
