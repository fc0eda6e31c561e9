//! Metric of actions: how many changed something.

use std::{collections::HashMap, sync::OnceLock};

use metrics::{Counter, counter};

use plaudit_catalogue::EdgeKind;

/// Actions that undo another one, whose name theirs does not contain. Those called `un` and the name of an action undo
/// that one.
const UNDOING: [(&str, &str); 6] = [
    ("deleteComment", "addComment"),
    ("deleteGroup", "createGroup"),
    ("deleteNote", "createNote"),
    ("leaveGroup", "joinGroup"),
    ("removeGroupMember", "joinGroup"),
    ("restoreUser", "hideUser"),
];

/// The counters of the actions, by their names.
static CHANGED: OnceLock<HashMap<&str, Counter>> = OnceLock::new();

/// Registers the series of each of these actions at 0, so that all exist before the first action. Once per process.
pub fn register(actions: &[&'static str]) {
    CHANGED.get_or_init(|| {
        let counter = |action: &&'static str| {
            let (kind, change) = labels(action, actions);
            let counter = counter!("plaudit_actions_total", "kind" => kind, "change" => change);
            counter.increment(0);
            (*action, counter)
        };
        actions.iter().map(counter).collect()
    });
}

/// The labels of an action: the kind of what it does or undoes, in snake case, and which of both it does.
fn labels(action: &str, actions: &[&str]) -> (String, &'static str) {
    let listed = UNDOING.iter().find(|(undoing, _)| *undoing == action).map(|(_, undone)| *undone);
    let undone = listed.or_else(|| {
        let undone = action.strip_prefix("un")?;
        actions.iter().copied().find(|known| known.eq_ignore_ascii_case(undone))
    });
    let change = if undone.is_some() { "off" } else { "on" };
    let mut kind = String::new();
    for letter in undone.unwrap_or(action).chars() {
        if letter.is_uppercase() {
            kind.push('_');
        }
        kind.extend(letter.to_lowercase());
    }
    (kind, change)
}

/// Counts an action that changed something. Call it once, also when the action is repeated.
pub fn changed(action: &str) {
    if let Some(counter) = CHANGED.get().and_then(|counters| counters.get(action)) {
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
    fn an_action_and_the_one_that_undoes_it_are_one_kind() {
        let actions =
            ["likeNote", "unlikeNote", "follow", "unfollow", "createGroup", "deleteGroup", "updateNote"];
        for (action, kind, change) in [
            ("likeNote", "like_note", "on"),
            ("unlikeNote", "like_note", "off"),
            ("unfollow", "follow", "off"),
            ("deleteGroup", "create_group", "off"),
            ("updateNote", "update_note", "on"),
        ] {
            assert_eq!(labels(action, &actions), (kind.to_owned(), change), "{action}");
        }
    }
}
