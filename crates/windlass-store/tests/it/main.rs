//! What both stores promise, and what each promises beyond that.

#[cfg(test)]
mod broken;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod file;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod holders;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod upkeep;
