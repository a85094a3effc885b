//! What the crate promises to those who use it.
#[cfg(test)]
#[cfg(unix)]
mod command;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod context;
#[cfg(test)]
#[cfg(unix)]
mod gate;
#[cfg(test)]
mod macro_tool;
#[cfg(test)]
mod memory;
#[cfg(test)]
#[cfg(unix)]
mod sandbox;
#[cfg(test)]
#[cfg(unix)]
mod support;
