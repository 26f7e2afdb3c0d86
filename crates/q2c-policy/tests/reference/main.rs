//! Each rule compared with a second implementation: plain, slow, and written from its published
//! description without code of the crate. In the closed loop both learn from I/Os that they delay.

mod agree;
mod by_hand;
mod closed_loop;
mod dpas;
mod epochs;
mod latencies;
mod pas;
mod published;
mod seconds;
mod smooth;
