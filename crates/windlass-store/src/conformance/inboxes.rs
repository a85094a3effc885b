//! Promises of the durable inbox.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_core::{Owner, RunState, Status, Text};

use super::sample::{append, begin, claim, ended, fence, holder, steer, steered};
use super::{LostRemovals, Verdict, holds, refused, same, waits, works};
use crate::{Append, KeyedPost, Post, PostId, PostKey, Store};

/// Posts are read in the order in which they came, from any place on, each inbox for itself.
pub async fn an_inbox_keeps_its_order(log: Arc<dyn Store>) -> Verdict {
    let (run, other) = (begin(&*log, 1).await?, begin(&*log, 2).await?);
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(works("a post", log.post(run, Post::new(100 + number, steer(&number.to_string()))).await)?);
        works("a post for another run", log.post(other, Post::new(1, steer("other"))).await)?;
    }
    holds("the places of posts do not ascend", ids.is_sorted_by(|a, b| a < b))?;
    let posted = works("the inbox", log.inbox(run, None).await)?;
    same("the posts' places", &posted.iter().map(|posted| posted.id).collect::<Vec<_>>(), &ids)?;
    for (number, posted) in (0..).zip(&posted) {
        same("a post's time", &posted.at, &(100 + number))?;
        same("a post's content", &posted.what, &steer(&number.to_string()))?;
    }
    for (index, id) in ids.iter().enumerate() {
        let after = works("the inbox after a place", log.inbox(run, Some(*id)).await)?;
        same("the number of posts after a place", &after.len(), &(ids.len() - index - 1))?;
    }
    Ok(())
}

/// A post is used by exactly one append, and goes with it.
pub async fn a_post_is_used_once(log: Arc<dyn Store>) -> Verdict {
    let (run, other) = (begin(&*log, 1).await?, begin(&*log, 2).await?);
    let first = works("a post", log.post(run, Post::new(1, steer("first"))).await)?;
    let second = works("a post", log.post(run, Post::new(2, steer("second"))).await)?;
    let using =
        |run, post, expected| Append { uses: Some(post), ..append(run, expected, steered(expected + 1, 1)) };
    refused("using a post of another run", log.append(using(other, first, 1)).await, "store.post_used")?;
    works("an append that uses a post", log.append(using(run, first, 1)).await)?;
    let left = works("the inbox", log.inbox(run, None).await)?;
    same("what is left", &left.iter().map(|posted| posted.id).collect::<Vec<_>>(), &vec![second])?;
    refused("using a post again", log.append(using(run, first, 2)).await, "store.post_used")?;
    refused(
        "using a post that never was",
        log.append(using(run, PostId(9_999), 2)).await,
        "store.post_used",
    )?;
    same("the number of events", &works("a summary", log.summary(run).await)?.version, &2)?;
    works("an append that uses the other post", log.append(using(run, second, 2)).await)?;
    same("what is left", &works("the inbox", log.inbox(run, None).await)?, &Vec::new())
}

/// An append's record keeps the id of the post that it uses. After a crash before the post was removed, the next holder
/// recognises it by that.
pub async fn a_used_post_is_recognised_by_its_id(log: Arc<dyn Store>) -> Verdict {
    let (run, other) = (begin(&*log, 1).await?, begin(&*log, 2).await?);
    let log: Arc<dyn Store> = LostRemovals::new(log);
    let first = works("a post", log.post(run, Post::new(1, steer("first"))).await)?;
    let second = works("a post", log.post(run, Post::new(2, steer("second"))).await)?;
    let theirs = works("a post for another run", log.post(other, Post::new(3, steer("theirs"))).await)?;
    let all = [first, second, theirs];
    same("the used posts before an append", &works("used posts", log.used(run, &all).await)?, &Vec::new())?;
    let using = Append { uses: Some(first), ..append(run, 1, steered(2, 1)) };
    works("an append that uses a post", log.append(using).await)?;
    works("a release", log.release(run, &fence("maker", 1)).await)?;
    let fence = works("a lease", log.acquire(run, &holder("next"), claim()).await)?;
    let listed = works("the inbox", log.inbox(run, None).await)?;
    let listed: Vec<PostId> = listed.iter().map(|posted| posted.id).collect();
    same("what the inbox lists after the crash", &listed, &vec![first, second])?;
    same("the used posts", &works("used posts", log.used(run, &listed).await)?, &vec![first])?;
    same("posts of another run", &works("used posts", log.used(other, &all).await)?, &Vec::new())?;
    let using = |post| Append { uses: Some(post), fence: fence.clone(), ..append(run, 2, steered(3, 1)) };
    refused("using a used post again", log.append(using(first)).await, "store.post_used")?;
    works("removing a used post", log.discard(run, first, &fence).await)?;
    works("using the other post", log.append(using(second)).await)?;
    let used: BTreeSet<PostId> = works("used posts", log.used(run, &all).await)?.into_iter().collect();
    same("the used posts in the end", &used, &BTreeSet::from([first, second]))?;
    let third = works("a post", log.post(run, Post::new(4, steer("third"))).await)?;
    works("refusing a post", log.discard(run, third, &fence).await)?;
    same("a refused post", &works("used posts", log.used(run, &[third]).await)?, &Vec::new())?;
    same("the number of events", &works("a summary", log.summary(run).await)?.version, &3)
}

/// Waiting ends when there is a post after the given place, and not before.
pub async fn waiting_for_a_post_ends_with_one(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    let mut changed = log.inbox_changed(run, None);
    holds("waiting at an empty inbox ends", waits(&mut changed).await)?;
    works("an append", log.append(append(run, 1, steered(2, 1))).await)?;
    holds("waiting for a post ends with an append", waits(&mut changed).await)?;
    let first = works("a post", log.post(run, Post::new(1, steer("first"))).await)?;
    works("waiting for a post", changed.await)?;
    works("waiting for what is there", log.inbox_changed(run, None).await)?;
    let mut next = log.inbox_changed(run, Some(first));
    holds("waiting for a post after the last one ends", waits(&mut next).await)?;
    works("a post", log.post(run, Post::new(2, steer("second"))).await)?;
    works("waiting for the next post", next.await)
}

/// A run ends only once its holder has read all that was posted to it; what comes after its end is refused to the sender.
pub async fn an_end_leaves_no_post_unread(log: Arc<dyn Store>) -> Verdict {
    let (run, other) = (begin(&*log, 1).await?, begin(&*log, 2).await?);
    let theirs = works("a post for another run", log.post(other, Post::new(1, steer("theirs"))).await)?;
    let first = works("a post", log.post(run, Post::new(1, steer("first"))).await)?;
    let second = works("a post", log.post(run, Post::new(2, steer("second"))).await)?;
    let ends = |heard, uses| {
        let run_state = RunState::Ended(Status::Answered);
        Append { uses, heard, run_state, ..append(run, 1, ended(Status::Answered)) }
    };
    for (heard, uses) in [(None, None), (Some(first), None), (None, Some(second))] {
        refused("an end without all posts", log.append(ends(heard, uses)).await, "store.unheard")?;
    }
    same("the number of events", &works("a summary", log.summary(run).await)?.version, &1)?;
    let posted = works("the inbox", log.inbox(run, None).await)?;
    same("what waits", &posted.iter().map(|posted| posted.id).collect::<Vec<_>>(), &vec![first, second])?;
    works("an end that uses the last post", log.append(ends(Some(first), Some(second))).await)?;
    refused("a post after the end", log.post(run, Post::new(3, steer("late"))).await, "store.ended")?;
    same("the inbox of an ended run", &works("the inbox", log.inbox(run, None).await)?, &Vec::new())?;
    let posted = works("the other inbox", log.inbox(other, None).await)?;
    same("what waits there", &posted.iter().map(|posted| posted.id).collect::<Vec<_>>(), &vec![theirs])?;
    let end = Append { run: other, ..ends(Some(theirs), None) };
    works("an end after all was read", log.append(end).await)?;
    same("the inbox of the other run", &works("the inbox", log.inbox(other, None).await)?, &Vec::new())
}

/// Only the holder takes out what it refuses; the others stay until the run ends.
pub async fn a_refused_post_is_taken_out_by_its_holder(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    let first = works("a post", log.post(run, Post::new(1, steer("first"))).await)?;
    let second = works("a post", log.post(run, Post::new(2, steer("second"))).await)?;
    let stranger = fence("stranger", 1);
    refused("taking a post out without the lease", log.discard(run, first, &stranger).await, "store.fenced")?;
    works("taking a post out", log.discard(run, first, &fence("maker", 1)).await)?;
    works("taking it out again", log.discard(run, first, &fence("maker", 1)).await)?;
    let left = works("the inbox", log.inbox(run, None).await)?;
    same("what is left", &left.iter().map(|posted| posted.id).collect::<Vec<_>>(), &vec![second])?;
    let gone = Append { uses: Some(first), ..append(run, 1, steered(2, 1)) };
    refused("using a post that was taken out", log.append(gone).await, "store.post_used")?;
    works("giving up the lease", log.release(run, &fence("maker", 1)).await)?;
    refused(
        "taking a post out after the lease",
        log.discard(run, second, &fence("maker", 1)).await,
        "store.not_held",
    )
    .map(drop)
}

/// A request under a key is posted once, as long as the run is there: also after its use and after the run's end. Another request
/// under the key is refused, another owner's is another one, and a refused input frees its key.
pub async fn a_key_is_posted_once(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    let under = |owner: &str, digest, text: &str| Post {
        key: Some(PostKey { owner: Owner::from(owner), key: "k1".into(), digest: [digest; 32] }),
        ..Post::new(1, steer(text))
    };
    let first = works("a post", log.post(run, under("local", 1, "first")).await)?;
    same("the same again", &works("a post", log.post(run, under("local", 1, "first")).await)?, &first)?;
    refused("another request", log.post(run, under("local", 2, "second")).await, "store.key_reused")?;
    let theirs = works("another owner's", log.post(run, under("ada", 2, "theirs")).await)?;
    let waiting = works("the inbox", log.inbox(run, None).await)?;
    same("what waits", &waiting.iter().map(|posted| posted.id).collect::<Vec<_>>(), &vec![first, theirs])?;
    works("using it", log.append(Append { uses: Some(first), ..append(run, 1, steered(2, 1)) }).await)?;
    same("a used one again", &works("a post", log.post(run, under("local", 1, "first")).await)?, &first)?;
    works("refusing the other", log.discard(run, theirs, &fence("maker", 1)).await)?;
    let again = works("a refused one's key", log.post(run, under("ada", 3, "again")).await)?;
    holds("a refused post came back", again != theirs)?;
    let run_state = RunState::Ended(Status::Answered);
    let end = Append { heard: Some(again), run_state, ..append(run, 2, ended(Status::Answered)) };
    works("an end", log.append(end).await)?;
    same("after the end", &works("a post", log.post(run, under("local", 1, "first")).await)?, &first)?;
    refused("a new one after the end", log.post(run, under("bob", 1, "late")).await, "store.ended").map(drop)
}

/// A post under a key is found by it, whichever run it was posted to: the newest post that was used, else the newest that
/// waits, for each owner. A refused one is not found, nor is one that ended with its run.
pub async fn a_post_is_found_by_its_key(log: Arc<dyn Store>) -> Verdict {
    let (first, second) = (begin(&*log, 1).await?, begin(&*log, 2).await?);
    let (local, ada) = (Owner::default(), Owner::from("ada"));
    let under = |digest, text: &str| Post {
        key: Some(PostKey { owner: Owner::default(), key: "k1".into(), digest: [digest; 32] }),
        ..Post::new(1, steer(text))
    };
    let all = async |owner: &Owner, keys: &[Text]| works("a look for keys", log.posted(owner, keys).await);
    let found = async |owner: &Owner, key: &str| {
        all(owner, &[key.into()]).await.map(|found| found.into_iter().flatten().next())
    };
    same("before it was posted", &found(&local, "k1").await?, &None)?;
    let refused = works("a post", log.post(first, under(1, "refused")).await)?;
    let waits = KeyedPost { run: first, post: refused, digest: [1; 32], is_used: false };
    same("a post that waits", &found(&local, "k1").await?, &Some(waits))?;
    same("another owner's", &found(&ada, "k1").await?, &None)?;
    same("another key", &found(&local, "k").await?, &None)?;
    works("refusing it", log.discard(first, refused, &fence("maker", 1)).await)?;
    same("a refused one", &found(&local, "k1").await?, &None)?;
    let older = works("a post to one run", log.post(first, under(2, "older")).await)?;
    let newer = works("a post to another run", log.post(second, under(3, "newer")).await)?;
    let newest = KeyedPost { run: second, post: newer, digest: [3; 32], is_used: false };
    same("the newest that waits", &found(&local, "k1").await?, &Some(newest.clone()))?;
    let several = all(&local, &["k".into(), "k1".into()]).await?;
    same("several keys in their order", &several, &vec![None, Some(newest)])?;
    works(
        "using the older",
        log.append(Append { uses: Some(older), ..append(first, 1, steered(2, 1)) }).await,
    )?;
    let used = KeyedPost { run: first, post: older, digest: [2; 32], is_used: true };
    same("one that was used", &found(&local, "k1").await?, &Some(used.clone()))?;
    let run_state = RunState::Ended(Status::Answered);
    let end = Append { run_state, ..append(first, 2, ended(Status::Answered)) };
    works("the end of its run", log.append(end).await)?;
    same("after the end of its run", &found(&local, "k1").await?, &Some(used.clone()))?;
    let end =
        |uses| Append { heard: Some(newer), uses, run_state, ..append(second, 1, ended(Status::Answered)) };
    works("an end that has heard the newer", log.append(end(None)).await)?;
    same("after an end without it", &found(&local, "k1").await?, &Some(used))
}
