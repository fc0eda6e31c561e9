//! Metric of actions: how many changed something.

use std::{collections::HashMap, sync::LazyLock};

use metrics::{Counter, counter};

use plaudit_catalogue::EdgeKind;

/// Each action, with its labels `kind` and `change`: whether it does something (on) or undoes it (off).
pub const ACTIONS: &[(&str, &str, &str)] = &[
    ("addComment", "add_comment", ON),
    ("approveComment", "approve_comment", ON),
    ("approveNote", "approve_note", ON),
    ("collectNote", "collect_note", ON),
    ("createGroup", "create_group", ON),
    ("createNote", "create_note", ON),
    ("decideReports", "decide_reports", ON),
    ("deleteComment", "add_comment", OFF),
    ("deleteGroup", "create_group", OFF),
    ("deleteNote", "create_note", OFF),
    ("eraseUser", "erase_user", ON),
    ("featureNote", "feature_note", ON),
    ("follow", "follow", ON),
    ("grantCoins", "grant_coins", ON),
    ("hideUser", "hide_user", ON),
    ("joinGroup", "join_group", ON),
    ("leaveGroup", "join_group", OFF),
    ("likeComment", "like_comment", ON),
    ("likeNote", "like_note", ON),
    ("markInboxRead", "mark_inbox_read", ON),
    ("rateNote", "rate_note", ON),
    ("recordMessage", "record_message", ON),
    ("recordViews", "record_views", ON),
    ("rejectComment", "reject_comment", ON),
    ("rejectNote", "reject_note", ON),
    // Counted as the edge that it switches off.
    ("removeGroupMember", "join_group", OFF),
    ("removeGroupNote", "remove_group_note", ON),
    ("removeNotes", "remove_notes", ON),
    ("reportComment", "report_comment", ON),
    ("reportNote", "report_note", ON),
    ("restoreUser", "hide_user", OFF),
    ("suspendUser", "suspend_user", ON),
    ("uncollectNote", "collect_note", OFF),
    ("unfeatureNote", "feature_note", OFF),
    ("unfollow", "follow", OFF),
    ("unlikeComment", "like_comment", OFF),
    ("unlikeNote", "like_note", OFF),
    ("unrateNote", "rate_note", OFF),
    ("unsuspendUser", "suspend_user", OFF),
    ("updateComment", "update_comment", ON),
    ("updateGroup", "update_group", ON),
    ("updateNote", "update_note", ON),
    ("updateProfile", "update_profile", ON),
    ("upsertGroups", "upsert_groups", ON),
    ("upsertNotes", "upsert_notes", ON),
    ("upsertUsers", "upsert_users", ON),
];

const ON: &str = "on";
const OFF: &str = "off";

static CHANGED: LazyLock<HashMap<&str, Counter>> = LazyLock::new(|| {
    let counter = |kind: &'static str, change: &'static str| {
        let counter = counter!("plaudit_actions_total", "kind" => kind, "change" => change);
        counter.increment(0);
        counter
    };
    ACTIONS.iter().map(|(action, kind, change)| (*action, counter(kind, change))).collect()
});

/// Registers every series at 0, so that all exist before the first action.
pub fn register_metrics() {
    LazyLock::force(&CHANGED);
}

/// Counts an action that changed something. Call it once, also when the action is repeated.
pub fn changed(action: &str) {
    if let Some(counter) = CHANGED.get(action) {
        counter.increment(1);
    }
}

/// Name of the action that switches an edge.
pub const fn switching(kind: EdgeKind, on: bool) -> &'static str {
    match (kind, on) {
        (EdgeKind::NoteLike, true) => "likeNote",
        (EdgeKind::NoteLike, false) => "unlikeNote",
        (EdgeKind::CommentLike, true) => "likeComment",
        (EdgeKind::CommentLike, false) => "unlikeComment",
        (EdgeKind::Follow, true) => "follow",
        (EdgeKind::Follow, false) => "unfollow",
        (EdgeKind::NoteCollect, true) => "collectNote",
        (EdgeKind::NoteCollect, false) => "uncollectNote",
        (EdgeKind::GroupJoin, true) => "joinGroup",
        (EdgeKind::GroupJoin, false) => "leaveGroup",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_switch_of_an_edge_is_counted() {
        for kind in EdgeKind::ALL {
            for on in [true, false] {
                assert!(CHANGED.contains_key(switching(*kind, on)), "{kind:?}");
            }
        }
    }
}
