//! The ledger of coins.

use crate::definition::{types::ObjectType, values::Object};
use plaudit_domain::CoinEntry;

pub fn coin_entry() -> ObjectType {
    ObjectType::new("CoinEntry", "An entry of your ledger of coins: coins that a service gave or took.")
        .parts([
            ("id: ID!", "Opaque and unique among all objects. `node` does not accept it."),
            ("amount: Int!", "The coins that were given; negative if they were taken."),
            ("balance: Count!", "The coins that you had afterwards."),
            ("reason: String!", "What for."),
            ("createdAt: DateTime!", "When they were given or taken."),
        ])
}

pub fn object(entry: CoinEntry) -> Object {
    Object::record([
        ("id", format!("coins_{}", entry.id).into()),
        ("amount", entry.amount.into()),
        ("balance", entry.balance_after.into()),
        ("reason", entry.reason.into()),
        ("createdAt", entry.created_at.into()),
    ])
}
