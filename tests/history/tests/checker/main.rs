//! The checker finds a planted bug of each class, and nothing in histories of a server that keeps its promises.

mod by_hand;
mod correct;
mod planted;
mod simulation;
