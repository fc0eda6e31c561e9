//! One entity from all sides.
