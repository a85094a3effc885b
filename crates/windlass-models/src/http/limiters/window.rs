//! Owns the count of a minute's requests and tokens.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::rate::Load;

/// The length of the window, in milliseconds.
const WINDOW_MS: u64 = 60_000;

/// The length of a slot, in milliseconds. Requests are counted by slots, so that the count takes the same room however many they are.
/// One leaves the window with the end of its slot: up to so much later than it could, which makes up for a clock that is a little ahead.
const SLOT_MS: u64 = 100;

/// The requests of the last minute. It holds at most `WINDOW_MS / SLOT_MS + 1` slots.
#[derive(Debug)]
pub(super) struct Window {
    begin: Instant,
    slots: VecDeque<Slot>,
    sum: Load,
}

#[derive(Debug)]
struct Slot {
    /// Slots since the beginning.
    place: u64,
    load: Load,
}

impl Window {
    pub(super) fn new(begin: Instant) -> Self {
        Self { begin, slots: VecDeque::new(), sum: Load::default() }
    }

    fn place(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.begin).as_millis();
        u64::try_from(since).unwrap_or(u64::MAX) / SLOT_MS
    }

    /// When the requests of a slot leave the window, after `more` further windows.
    fn leave(&self, place: u64, more: u64) -> Instant {
        let slots = place.saturating_add(1).saturating_mul(SLOT_MS);
        let ms = slots.saturating_add(more.saturating_add(1).saturating_mul(WINDOW_MS));
        self.begin.checked_add(Duration::from_millis(ms)).unwrap_or(self.begin)
    }

    /// Forgets what has left the window.
    pub(super) fn forget(&mut self, now: Instant) {
        while let Some(slot) = self.slots.front().filter(|slot| self.leave(slot.place, 0) <= now) {
            self.sum = self.sum.minus(slot.load);
            self.slots.pop_front();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Counts a request that is sent now. Gives its slot, for [`correct`](Self::correct).
    pub(super) fn add(&mut self, now: Instant, load: Load) -> u64 {
        // The clock of another runtime may be behind.
        let place = self.place(now).max(self.slots.back().map_or(0, |slot| slot.place));
        self.sum = self.sum.plus(load);
        match self.slots.back_mut().filter(|slot| slot.place == place) {
            Some(slot) => slot.load = slot.load.plus(load),
            None => self.slots.push_back(Slot { place, load }),
        }
        place
    }

    /// Counts other tokens for a request than were reserved for it.
    pub(super) fn correct(&mut self, place: u64, from: u64, to: u64) {
        let Some(slot) = self.slots.iter_mut().rev().find(|slot| slot.place == place) else { return };
        let (from, to) = (Load { tokens: from, requests: 0 }, Load { tokens: to, requests: 0 });
        slot.load = slot.load.minus(from).plus(to);
        self.sum = self.sum.minus(from).plus(to);
    }

    /// When the last of these requests may be sent, which go one after the other; `None`: now. What has left the window is forgotten.
    pub(super) fn room_at(&self, now: Instant, ahead: Load, most: Load) -> Option<Instant> {
        if self.sum.plus(ahead).fits(most) {
            return None;
        }
        // So many whole windows pass, and then the rest goes.
        let split = |count: u64, most: u64| {
            let rounds = count.saturating_sub(1) / most.max(1);
            (rounds, count - rounds * most.max(1))
        };
        let (rounds, requests) = split(ahead.requests, most.requests);
        let of_requests = self.free(now, rounds, Load { requests, tokens: 0 }, most);
        let (rounds, tokens) = split(ahead.tokens, most.tokens);
        let of_tokens = self.free(now, rounds, Load { requests: 0, tokens }, most);
        of_requests.max(of_tokens)
    }

    /// When there is room for a load beside the others, after so many windows; `None`: now.
    fn free(&self, now: Instant, rounds: u64, load: Load, most: Load) -> Option<Instant> {
        let only = |sum: Load| Load {
            requests: if load.requests > 0 { sum.requests } else { 0 },
            tokens: if load.tokens > 0 { sum.tokens } else { 0 },
        };
        let mut sum = only(self.sum.plus(load));
        let mut at = (rounds > 0).then(|| self.leave(self.place(now), rounds - 1));
        for slot in &self.slots {
            if sum.fits(most) {
                break;
            }
            sum = sum.minus(slot.load);
            at = Some(self.leave(slot.place, rounds));
        }
        at
    }
}
