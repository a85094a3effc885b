//! Owns how this side learns that a server's list of tools changed.
//!
//! Up to MCP 2025-11-25 a server sends a notification; from 2026-07-28 on it notifies only subscribers.

use std::sync::{Arc, Weak};
use std::time::Duration;

use rmcp::model::{ProtocolVersion, ServerNotification, SubscriptionFilter};
use rmcp::{Peer, RoleClient};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::Shared;
use crate::mcp::client::link::Link;

/// The pause after a list before the next: a server that cries change all the time does not keep us busy.
const PAUSE: Duration = Duration::from_millis(50);

/// Timeout of a list request.
const LIST_LIMIT: Duration = Duration::from_secs(30);

/// The pause before a broken subscription is made again.
const LISTEN_PAUSE: Duration = Duration::from_secs(1);

/// Maximum number of times that a subscription is renewed during a connection.
const MAX_LISTENS: usize = 10;

/// Follows the list of tools for as long as the connection is there. Keeps neither the server nor the connection.
pub(super) fn follow(shared: &Arc<Shared>, link: &Arc<Link>) {
    let (over, changed) = (link.over().clone(), link.changed().clone());
    let lists = relist(Arc::downgrade(shared), Arc::downgrade(link), changed.clone());
    tokio::spawn({
        let over = over.clone();
        async move { over.run_until_cancelled(lists).await }
    });
    let peer = link.peer().clone();
    if listens(&peer) {
        tokio::spawn(async move { over.run_until_cancelled(listen(peer, changed)).await });
    }
}

async fn relist(shared: Weak<Shared>, link: Weak<Link>, changed: Arc<Notify>) {
    loop {
        changed.notified().await;
        let (Some(server), Some(current)) = (shared.upgrade(), link.upgrade()) else { return };
        match timeout(LIST_LIMIT, current.list(&server.config, &server.mask)).await {
            Ok(Ok(listed)) if server.holds(&current) => {
                if let Err(error) = server.adopt(listed).await {
                    tracing::warn!(%error, "the changed list of tools is not used");
                }
            }
            Ok(Ok(_)) => return,
            Ok(Err(error)) => tracing::warn!(%error, "cannot read the changed list of tools"),
            Err(_) => tracing::warn!(server = %server.config.name, "timed out reading the list of tools"),
        }
        drop((server, current));
        sleep(PAUSE).await;
    }
}

/// Whether changes are sent only to subscribers (MCP 2026-07-28, `subscriptions/listen`).
fn listens(peer: &Peer<RoleClient>) -> bool {
    peer.peer_info().is_some_and(|info| {
        let tells = info.capabilities.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true));
        tells && info.protocol_version >= ProtocolVersion::V_2026_07_28
    })
}

async fn listen(peer: Peer<RoleClient>, changed: Arc<Notify>) {
    for _ in 0..MAX_LISTENS {
        match peer.listen(SubscriptionFilter::builder().tools_list_changed().build()).await {
            Ok(mut subscription) => {
                // The list may have changed before the subscription, also at the start.
                changed.notify_one();
                while let Ok(Some(notification)) = subscription.next().await {
                    if let ServerNotification::ToolListChangedNotification(_) = notification {
                        changed.notify_one();
                    }
                }
            }
            Err(error) => tracing::debug!(%error, "no subscription to changes of the list of tools"),
        }
        sleep(LISTEN_PAUSE).await;
    }
}
