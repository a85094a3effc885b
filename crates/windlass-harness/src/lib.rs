//! Drives the real `windlass` binary through everything that can happen to a process and its disk, and holds it to its
//! promises: the same end, no event lost, none half-written, no finished effect repeated, no doubt unasked.
//!
//! A model server on the loopback address and tools that leave receipts stand around it ([`Scene`]); a run lives over as
//! many processes as it takes, and is checked after each ([`Life`]). What happens to a process is its [`Fate`]: a kill at
//! a random time ([`kills()`]; many senders at once: [`senders()`]), a fault at a system call ([`calls()`]), a fault around the start of
//! a tool ([`windows()`]), a disk without room ([`disks()`]). The server has clients of every kind ([`doors()`]). Two more parts work
//! on the files alone: [`prefixes()`] and [`power()`]. Linux only: strace, `/proc`, tmpfs.
mod calls;
mod campaigns;
mod chance;
mod disk;
mod doors;
mod error;
mod ground;
mod home;
mod life;
mod look;
mod mock;
mod page;
mod scene;
mod sound;
mod windows;

pub use calls::calls;
pub use campaigns::{
    KillPlan, KillReport, SenderPlan, SendersLine, SendersPlan, SendersReport, kills, send, senders,
};
pub use chance::Chance;
pub use disk::power::power;
pub use disk::prefixes::{Files, Lengths, played, prefixes, scripted};
pub use disk::{DISK_FAULTS, disks, locked, may_mount};
pub use doors::{Campaign, DoorsPlan, DoorsReport, Scale, doors, stage};
pub use error::HarnessError;
pub use ground::Ground;
pub use home::{Home, Receipt, Step};
pub use life::{Ending, Fate, Life, Lived, Story, reference, undisturbed};
pub use look::{Look, all, newest};
pub use mock::{Asked, Mock, Reply, Script, ScriptedCall, Speech};
pub use page::Matrix;
pub use scene::{INPUT, Kind, Scene, WhileRunning};
pub use sound::{kept, not_again, receipts};
pub use windows::windows;
